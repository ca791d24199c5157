// Stands alone when the host knows no session of this browser.
import { Mark } from "../ui/mark.tsx";
import { Command, Notice } from "../ui/notice.tsx";
import { texts } from "../ui/texts.ts";

export const Refused = () => (
  <main className="alone">
    <h1 className="brand">
      <Mark />
      <span>{texts.name}</span>
    </h1>
    <Notice title={texts.refused.title}>
      <p>{texts.refused.body}</p>
      <Command>{texts.refused.command}</Command>
      <p>{texts.refused.after}</p>
    </Notice>
  </main>
);
