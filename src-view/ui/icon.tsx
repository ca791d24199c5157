// Line icons of 16 units; always beside a word or a label, so hidden from screen readers.
const paths = {
  chat: "M2.5 3.5h11v7.5H7.5L4.7 13.4V11H2.5z",
  compose:
    "M8 3H4.2A1.2 1.2 0 0 0 3 4.2v7.6A1.2 1.2 0 0 0 4.2 13h7.6a1.2 1.2 0 0 0 1.2-1.2V8M11.6 2.6l1.8 1.8-5 5-2.3.5.5-2.3z",
  down: "M8 3v10M3.8 8.8 8 13l4.2-4.2",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.4v1.5M8 13.1v1.5M1.4 8h1.5M13.1 8h1.5M3.3 3.3l1.1 1.1M11.6 11.6l1.1 1.1M12.7 3.3l-1.1 1.1M4.4 11.6l-1.1 1.1",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8",
  system: "M2.5 3h11v7.5h-11zM6 13.2h4M8 10.5v2.7",
  check: "M3.4 8.4l3 3 6.2-6.6",
  alert: "M8 2.4 14.4 13.4H1.6zM8 6.6v3.2M8 11.4v.4",
  wait: "M8 2.4a5.6 5.6 0 1 0 0 11.2A5.6 5.6 0 0 0 8 2.4M8 5.2V8l2 1.4",
  close: "M4 4l8 8M12 4l-8 8",
} as const;

export type IconName = keyof typeof paths;

export const Icon = ({ name }: { readonly name: IconName }) => (
  <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
