// JSON from a client that goes on to a chat template: bounded, and in one order.
import type { JsonObject } from "../contract/engine.ts";

/** Deeper than any schema, and far from what a call stack holds. */
export const MAX_LEVELS = 64;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isNestedTooDeep = (value: unknown, levels = MAX_LEVELS): boolean => {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isNestedTooDeep(inner, levels - 1));
};

/** As OpenAI and the templates' own examples write them, which is how models have seen them. */
const firstKeys = ["type", "function", "name", "description", "parameters", "properties", "required"];

const rankOf = (key: string): number => {
  const at = firstKeys.indexOf(key);
  return at < 0 ? firstKeys.length : at;
};

/**
 * The same value with the keys of every object in one order, whatever order they came in; lists stay as they are.
 * Requires that it is not nested too deep.
 */
export const inOneOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOneOrder);
  if (!isObject(value)) return value;
  const keys = Object.keys(value).sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
  return Object.fromEntries(keys.map((key) => [key, inOneOrder(value[key])]));
};
