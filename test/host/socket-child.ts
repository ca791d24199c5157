// Run as a process of its own: listens at the path that is its argument, until it is killed.
import { startSocketHost } from "../../src-bun/host/socket.ts";
import { ready, stateOf } from "../server/running-server.ts";
import { ScriptedEngine } from "../server/scripted-engine.ts";

const engine = new ScriptedEngine();
const host = startSocketHost({
  path: process.argv[2] ?? "",
  engine: () => engine,
  state: stateOf(ready).source,
  parse: () => Promise.reject(new Error("nobody asks")),
  openPage: () => "",
});
console.log(host === "busy" ? "busy" : "listening");
