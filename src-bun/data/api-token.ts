import { KeepwarmError } from "../base/errors.ts";
import { createPrivateText, findPrivateText } from "./private-file.ts";
import { makeSecret } from "./secret.ts";

/** The prefix tells a person, and a scanner for leaked secrets, what it is. */
const tokenPattern = /^kw-[A-Za-z0-9_-]{43}$/;

/** The token that opens the HTTP API, from the file at `path`; made there when it does not exist. */
export const openApiToken = (path: string): string => {
  if (findPrivateText(path) === null) createPrivateText(path, `kw-${makeSecret()}\n`);
  const token = findPrivateText(path)?.trim() ?? "";
  if (tokenPattern.test(token)) return token;
  throw new KeepwarmError(
    "damaged-file",
    `${path} holds no API token. Delete it and start Keepwarm again, which makes a new one.`,
  );
};
