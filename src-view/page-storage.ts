// What this browser keeps for the page. A browser may forbid it; then the page works without.
export type PageStorage = {
  /** Null when nothing is kept under the key, or nothing may be. */
  readonly find: (key: string) => string | null;
  /** False when it could not be kept: forbidden, or no room. */
  readonly keep: (key: string, value: string) => boolean;
};

export const browserStorage = (page: Pick<Window, "localStorage">): PageStorage => ({
  find: (key) => {
    try {
      return page.localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  keep: (key, value) => {
    try {
      page.localStorage.setItem(key, value);
      return true;
    } catch {
      return false;
    }
  },
});
