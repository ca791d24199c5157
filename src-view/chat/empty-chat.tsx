import { texts } from "../ui/texts.ts";

export const EmptyChat = ({ onExample }: { readonly onExample: (text: string) => void }) => (
  <section className="empty">
    <h2>{texts.empty.title}</h2>
    <p>{texts.empty.body}</p>
    <ul aria-label={texts.empty.examples}>
      {texts.examples.map((example) => (
        <li key={example}>
          <button type="button" className="example" onClick={() => onExample(example)}>
            {example}
          </button>
        </li>
      ))}
    </ul>
  </section>
);
