import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of its own that goes when the scope ends. */
export class TemporaryFolder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "keepwarm-test-"));

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
