// The page, built from its sources by Bun.
import { join } from "node:path";
import { KeepwarmError, messageOf } from "../base/errors.ts";

export type ViewFile = { readonly body: string | Blob; readonly type: string };

export type View = {
  readonly shell: ViewFile;
  /** By path, "/assets/main-….js". */
  readonly assets: ReadonlyMap<string, ViewFile>;
};

/** What the shell's source names, where the built file's name belongs. */
const placeholders = ["/assets/main.js", "/assets/main.css"] as const;

/** The name under which React asks whether it is being developed; joined because nothing is read from it here. */
const reactMode = ["process", "env", "NODE_ENV"].join(".");

const bundle = async (folder: string): Promise<ReadonlyMap<string, Blob>> => {
  const built = await Bun.build({
    entrypoints: [join(folder, "main.tsx")],
    root: folder,
    target: "browser",
    minify: true,
    splitting: true,
    publicPath: "/assets/",
    naming: "[name]-[hash].[ext]",
    define: { [reactMode]: '"production"' },
  });
  return new Map(built.outputs.map((output) => [join("/assets", output.path), output]));
};

const fillShell = async (folder: string, paths: readonly string[]): Promise<string> => {
  let shell = await Bun.file(join(folder, "index.html")).text();
  for (const placeholder of placeholders) {
    const [name, extension] = placeholder.slice("/assets/".length).split(".");
    const path = paths.find((path) => path.startsWith(`/assets/${name}-`) && path.endsWith(`.${extension}`));
    if (path === undefined || !shell.includes(`"${placeholder}"`))
      throw new Error(`the shell and the bundle do not agree about ${placeholder}`);
    shell = shell.replace(`"${placeholder}"`, `"${path}"`);
  }
  return shell;
};

/** Builds `main.tsx` and `index.html` of `folder`: some 200 ms, so ask once a process. */
export const buildView = async (folder: string): Promise<View> => {
  try {
    const files = await bundle(folder);
    return {
      shell: { body: await fillShell(folder, [...files.keys()]), type: "text/html; charset=utf-8" },
      assets: new Map([...files].map(([path, file]) => [path, { body: file, type: file.type }])),
    };
  } catch (cause) {
    throw new KeepwarmError("setup-failed", `Keepwarm's page could not be built: ${messageOf(cause)}.`, { cause });
  }
};
