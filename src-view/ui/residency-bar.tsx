// Where the tokens of a prompt came from, to scale: RAM, SSD, new, and what is still to be read.
import { texts } from "./texts.ts";

export type ResidencyBarProps = {
  readonly ramTokens: number;
  readonly ssdTokens: number;
  readonly newTokens: number;
  readonly totalTokens: number;
};

export const ResidencyBar = ({ ramTokens, ssdTokens, newTokens, totalTokens }: ResidencyBarProps) => {
  const width = (tokens: number) => ({ width: `${(100 * tokens) / Math.max(1, totalTokens)}%` });
  return (
    <span className="residency" role="img" aria-label={texts.residency(ramTokens, ssdTokens, newTokens)}>
      <span className="residency-ram" style={width(ramTokens)} />
      <span className="residency-ssd" style={width(ssdTokens)} />
      <span className="residency-new" style={width(newTokens)} />
    </span>
  );
};
