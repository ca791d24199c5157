// The faults of the world that Keepwarm knows by name. Expected outcomes are values, faults of ours are plain errors.
export type ErrorCode =
  | "bad-request"
  | "busy"
  | "cancelled"
  | "context-exceeded"
  | "damaged-file"
  | "download-failed"
  | "engine-exited"
  | "flush-failed"
  | "forbidden"
  | "incomplete-blocks"
  | "invalid-reference"
  | "io-failed"
  | "hash-mismatch"
  | "length-drift"
  | "missing-tool"
  | "mlx"
  | "no-progress"
  | "no-space"
  | "not-found"
  | "not-ready"
  | "port-in-use"
  | "read-only"
  | "setup-failed"
  | "template-failed"
  | "too-large"
  | "truncated"
  | "unauthorized"
  | "unknown-model"
  | "unsupported-model"
  | "unsupported-platform"
  | "version-mismatch"
  | "worker-exited"
  | "wrong-media-type";

export class KeepwarmError extends Error {
  readonly code: ErrorCode;

  /** `message` says what happened and what the reader can do, in one or two sentences. */
  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "KeepwarmError";
    this.code = code;
  }
}

/** The text of anything that was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** What crosses a thread or a socket: the code of a known fault, "internal" for one of ours. */
export const wireError = (thrown: unknown): { readonly code: string; readonly message: string } => ({
  code: thrown instanceof KeepwarmError ? thrown.code : "internal",
  message: messageOf(thrown),
});

/** What `wireError` was made from, on the other side: a fault of ours stays one there. */
export const errorFromWire = ({ code, message }: { readonly code: string; readonly message: string }): Error =>
  code === "internal" ? new Error(message) : new KeepwarmError(code as ErrorCode, message);
