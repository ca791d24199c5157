// A page that says one thing: a heading, sentences, and perhaps a command to run.
import type { ReactNode } from "react";

export type NoticeProps = {
  readonly title: string;
  readonly tone?: "plain" | "bad";
  readonly children: ReactNode;
};

export const Notice = ({ title, tone = "plain", children }: NoticeProps) => (
  <section className={`notice notice-${tone}`}>
    <h2>{title}</h2>
    {children}
  </section>
);

export const Command = ({ children }: { readonly children: string }) => <code className="command">{children}</code>;
