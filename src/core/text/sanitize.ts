const NUL = /\0/g
const CONTROL = /[\p{Cc}\p{Cf}]/gu

/** Text that PostgreSQL and UTF-8 can hold: NUL and lone surrogates become U+FFFD. */
export function storable(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replace(NUL, '\uFFFD') : wellFormed
}

/** One line for a terminal: what would steer it, end the line or hide something becomes U+FFFD. */
export function printable(text: string): string {
  return text.replace(CONTROL, '\uFFFD')
}
