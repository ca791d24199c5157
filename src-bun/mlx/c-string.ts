/** Text as C reads it: UTF-8 up to a zero byte. */
export const cString = (text: string): Uint8Array => new TextEncoder().encode(`${text}\0`);
