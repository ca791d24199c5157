import { afterAll, describe, expect, test } from "bun:test";
import { accessOf } from "../../src-bun/server/guard.ts";
import { runServer } from "./running-server.ts";

const server = runServer();
afterAll(() => server[Symbol.asyncDispose]());

const { port } = server.host;
const own = `127.0.0.1:${port}`;

/** Every route of the router; middleware is listed under "ALL" and is no route. */
const routes = server.host.routes
  .filter(({ method }) => method !== "ALL")
  .map(({ method, path }) => ({ method, path: path.replace("*", "main-1.js") }));

type Ask = { readonly method: string; readonly path: string; readonly headers: Record<string, string> };

const ask = async ({ method, path, headers }: Ask): Promise<number> => {
  const body = method === "POST" ? { body: "{}" } : {};
  const answer = await fetch(`${server.url}${path}`, { method, headers, ...body });
  expect(answer.headers.has("access-control-allow-origin")).toBe(false);
  const text = await answer.text();
  expect(text).not.toContain(server.token);
  expect(text).not.toContain("wrong-secret");
  if (answer.status >= 400) expect(JSON.parse(text)).toHaveProperty("error.message");
  return answer.status;
};

/** What a rightful client of this route sends. */
const credentials = async (method: string, path: string): Promise<Record<string, string>> => {
  const headers: Record<string, string> = method === "POST" ? { "Content-Type": "application/json" } : {};
  const access = accessOf(method, path);
  if (access === "token") headers["Authorization"] = `Bearer ${server.token}`;
  if (access === "session") headers["Cookie"] = await server.letIn();
  return headers;
};

/** Refused on each route, whatever else the client holds. */
const foreign: readonly (readonly [string, Record<string, string>])[] = [
  ["an evil Origin", { Origin: "https://evil.example" }],
  ["the Origin of another port", { Origin: "http://127.0.0.1:1" }],
  ["the Origin null", { Origin: "null" }],
  ["an Origin that begins like ours", { Origin: `http://${own}.evil.example` }],
  ["an evil Host", { Host: "evil.example" }],
  ["an evil Host on our port", { Host: `evil.example:${port}` }],
  ["a Host with a trailing dot", { Host: `localhost.:${port}` }],
  ["a Host with a dot after the port", { Host: `${own}.` }],
  ["a Host with another port", { Host: "127.0.0.1:1" }],
  ["a Host without a port", { Host: "127.0.0.1" }],
  ["the Host 0.0.0.0", { Host: `0.0.0.0:${port}` }],
  ["a cross-site request", { "Sec-Fetch-Site": "cross-site" }],
];

describe.each(routes)("$method $path", ({ method, path }) => {
  const access = accessOf(method, path);

  test("lets its own clients pass", async () => {
    const status = await ask({ method, path, headers: await credentials(method, path) });
    // Past the gate: an empty body, a spent code or a request that is no WebSocket is refused by the route.
    const expected: Record<string, number> = { "/v1/chat/completions": 400, "/ws": 400 };
    const code = method === "POST" && path === "/session" ? 400 : (expected[path] ?? (path === "/session" ? 204 : 200));
    expect(status).toBe(code);
  });

  test.each(foreign)("refuses %s", async (_name, headers) => {
    const rightful = await credentials(method, path);
    expect(await ask({ method, path, headers: { ...rightful, ...headers } })).toBe(403);
  });

  test("refuses a preflight", async () => {
    const headers = { Origin: "https://evil.example", "Access-Control-Request-Method": method };
    expect(await ask({ method: "OPTIONS", path, headers })).toBe(403);
    expect(await ask({ method: "OPTIONS", path, headers: { Authorization: `Bearer ${server.token}` } })).toBe(403);
  });

  test("refuses an upgrade by a page of another origin", async () => {
    const rightful = await credentials(method, path);
    const upgrade = {
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      Origin: "https://evil.example",
    };
    expect(await ask({ method, path, headers: { ...rightful, ...upgrade } })).toBe(403);
  });

  if (access !== "free") {
    const type = { "Content-Type": "application/json" };
    const wrong: readonly (readonly [string, Record<string, string>])[] = [
      ["no credential", {}],
      ["a wrong token", { Authorization: "Bearer wrong-secret" }],
      ["a wrong token in the other header", { "x-api-key": "wrong-secret" }],
      ["a token in another scheme", { Authorization: `Basic ${server.token}` }],
      ["an empty token", { Authorization: "Bearer " }],
      ["a wrong cookie", { Cookie: `keepwarm_${port}=wrong-secret` }],
    ];
    test.each(wrong)("refuses %s", async (_name, headers) => {
      expect(await ask({ method, path, headers: { ...type, ...headers } })).toBe(401);
    });

    test("refuses the other kind of credential", async () => {
      const other = access === "token" ? { Cookie: await server.letIn() } : { Authorization: `Bearer ${server.token}` };
      expect(await ask({ method, path, headers: { ...type, ...other } })).toBe(401);
    });

    test("refuses a token in the address", async () => {
      expect(await ask({ method, path: `${path}?key=${server.token}`, headers: type })).toBe(401);
    });
  }

  if (method === "POST") {
    test.each(["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
      "refuses a body of type %s",
      async (type) => {
        const rightful = await credentials(method, path);
        expect(await ask({ method, path, headers: { ...rightful, "Content-Type": type } })).toBe(415);
      },
    );
  }
});

describe("the gate", () => {
  test("takes the token in either header, and localhost and ::1 as names", async () => {
    for (const headers of [
      { Authorization: `Bearer ${server.token}` },
      { authorization: `bearer ${server.token}` },
      { "x-api-key": server.token },
      { "x-api-key": server.token, Host: `localhost:${port}`, Origin: `http://localhost:${port}` },
      { "x-api-key": server.token, Host: `[::1]:${port}` },
    ] as Record<string, string>[])
      expect(await ask({ method: "GET", path: "/v1/models", headers })).toBe(200);
  });

  test("asks for the token where no route is", async () => {
    for (const path of ["/v1/cache", "/metrics", "/v1/models/", "/assets", "/HEALTH"])
      expect(await ask({ method: "GET", path, headers: {} })).toBe(401);
    expect(await ask({ method: "GET", path: "/nothing", headers: { "x-api-key": server.token } })).toBe(404);
    expect(await ask({ method: "DELETE", path: "/session", headers: {} })).toBe(401);
  });

  test("finds no file beside the assets", async () => {
    for (const path of ["/assets/../package.json", "/assets/%2e%2e/api-token", "/assets/main-2.js"])
      expect([401, 404]).toContain(await ask({ method: "GET", path, headers: {} }));
  });

  test("tells nothing but that it lives to whoever asks for its health", async () => {
    expect(await (await fetch(`${server.url}/health`)).json()).toEqual({ status: "ok" });
  });

  test("reports no fault of ours for any of this", () => {
    expect(server.faults).toEqual([]);
  });
});
