// The mark (mark.svg, the tab's icon) in the colours of the theme: a cool block, a warm one, and warmth above.
export const Mark = () => (
  <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
    <path className="mark-warmth" d="M8.6 3.2 7.2 7M12.9 3.2 11.5 7M17.2 3.2 15.8 7" />
    <rect className="mark-warm" x="4" y="9.4" width="16" height="5" rx="1.4" />
    <rect className="mark-cool" x="4" y="16" width="16" height="5" rx="1.4" />
  </svg>
);
