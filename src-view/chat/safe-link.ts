/** Where an answer's links may lead. */
const allowed = /^(?:https?:\/\/|mailto:)/i;

/** Returns the address, or nothing when the page must not lead there. */
export const safeLink = (address: string): string => (allowed.test(address) ? address : "");
