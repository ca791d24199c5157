// Keeps a scrolled region at its end while it grows, until the reader scrolls up.

/** Pixels from the end that still count as being there; scroll positions are rounded. */
const nearPx = 4;
const keysUp: ReadonlySet<string> = new Set(["ArrowUp", "PageUp", "Home"]);

export type EndFollower = { readonly goToEnd: () => void; readonly stop: () => void };

export const followEnd = (
  region: HTMLElement,
  content: HTMLElement,
  onChange: (isAtEnd: boolean) => void,
): EndFollower => {
  let isFollowing = true;
  let last = region.scrollTop;
  const follow = (isNow: boolean): void => {
    isFollowing = isNow;
    onChange(isNow);
  };
  const scrollToEnd = (): void => region.scrollTo({ top: region.scrollHeight, behavior: "instant" });
  const onScroll = (): void => {
    const leftPx = region.scrollHeight - region.clientHeight - region.scrollTop;
    if (region.scrollTop > last && leftPx <= nearPx) follow(true);
    // Content that shrinks moves the position up too, but then exactly to the end.
    else if (region.scrollTop < last && leftPx > 1) follow(false);
    last = region.scrollTop;
  };
  // A smooth scroll starts with less than a pixel: growth at that moment would pull the reader back.
  const onIntent = (isUp: boolean): void => {
    if (isUp && region.scrollTop > 0) follow(false);
  };
  const onGrowth = new ResizeObserver(() => {
    if (isFollowing) scrollToEnd();
  });
  const listening = new AbortController();
  const options = { passive: true, signal: listening.signal };
  onGrowth.observe(region);
  onGrowth.observe(content);
  region.addEventListener("scroll", onScroll, options);
  region.addEventListener("wheel", (event) => onIntent(event.deltaY < 0), options);
  region.addEventListener("keydown", (event) => onIntent(keysUp.has(event.key)), options);
  return {
    goToEnd: () => {
      follow(true);
      scrollToEnd();
    },
    stop: () => {
      onGrowth.disconnect();
      listening.abort();
    },
  };
};
