// Numbers as people read them, each with its unit.
const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

const withDigits = (value: number, digits: number): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const formatCount = (value: number): string => whole.format(value);

/** Decimal units, as the file manager shows them. */
const byteUnits = [
  { name: "GB", bytes: 1e9 },
  { name: "MB", bytes: 1e6 },
  { name: "kB", bytes: 1e3 },
] as const;

const byteUnitOf = (bytes: number): { readonly name: string; readonly bytes: number } =>
  byteUnits.find((unit) => bytes >= unit.bytes) ?? { name: "bytes", bytes: 1 };

const inUnit = (bytes: number, unit: { readonly name: string; readonly bytes: number }): string => {
  const value = bytes / unit.bytes;
  return withDigits(value, unit.name === "GB" && value < 10 ? 1 : 0);
};

export const formatBytes = (bytes: number): string => {
  const unit = byteUnitOf(bytes);
  return `${inUnit(bytes, unit)} ${unit.name}`;
};

/** "23 of 41 MB": both in the unit of the whole. */
export const formatBytesOf = (doneBytes: number, totalBytes: number): string => {
  const unit = byteUnitOf(totalBytes);
  return `${inUnit(Math.min(doneBytes, totalBytes), unit)} of ${inUnit(totalBytes, unit)} ${unit.name}`;
};

export const formatDuration = (ms: number): string => {
  const seconds = ms / 1000;
  if (seconds < 9.995) return `${withDigits(seconds, 2)} s`;
  if (seconds < 59.95) return `${withDigits(seconds, 1)} s`;
  const rounded = Math.round(seconds);
  const minutes = Math.floor(rounded / 60);
  return minutes < 60 ? `${minutes} min ${rounded % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};

export const formatRate = (tokensPerSecond: number): string =>
  `${withDigits(tokensPerSecond, tokensPerSecond < 99.95 ? 1 : 0)} tokens/s`;
