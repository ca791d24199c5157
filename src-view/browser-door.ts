// The browser's side of the host client: address, socket, timers.
import type { HostDoor } from "./host-client.ts";

export const browserDoor = (page: Window): HostDoor => ({
  openSocket: () => new WebSocket(new URL("/ws", page.location.href.replace(/^http/, "ws"))),
  fetch: (path, init) => fetch(path, init),
  code: () => new URLSearchParams(page.location.hash.slice(1)).get("code"),
  forgetCode: () => page.history.replaceState(null, "", page.location.pathname + page.location.search),
  after: (delayMs, run) => {
    const timer = page.setTimeout(run, delayMs);
    return () => page.clearTimeout(timer);
  },
  random: () => Math.random(),
});
