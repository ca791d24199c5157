import { expect, test } from "bun:test";
import type { ModelInfo } from "../../src-bun/contract/engine.ts";
import { createAppStore, modelOf, readinessOf } from "../../src-view/app-store.ts";

const model: ModelInfo = { id: "m", name: "M", contextTokens: 8192, weightBytes: 1, kvBytesPerToken: 1 };

test("sending waits for the connection, then for the app", () => {
  const store = createAppStore("system");
  expect(readinessOf(store.getState())).toBe("connecting");
  store.setState({ connection: { kind: "open" } });
  expect(readinessOf(store.getState())).toBe("connecting");
  store.setState({ app: { kind: "setting-up", parts: [] } });
  expect(readinessOf(store.getState())).toBe("setting-up");
  store.setState({ app: { kind: "ready", model, ssdFault: null } });
  expect(readinessOf(store.getState())).toBe("ready");
  expect(modelOf(store.getState())).toEqual(model);
});

test("a broken connection counts before what the app last said", () => {
  const store = createAppStore("system");
  store.setState({ app: { kind: "ready", model, ssdFault: null } });
  for (const kind of ["offline", "outdated"] as const) {
    store.setState({ connection: { kind } });
    expect(readinessOf(store.getState())).toBe(kind);
  }
});
