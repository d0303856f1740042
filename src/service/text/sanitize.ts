const NUL = /\0/g
const CONTROL = /[\p{Cc}\p{Cf}]/gu

/** Text that PostgreSQL and UTF-8 can store: NUL and lone surrogates become U+FFFD. */
export function storable(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replace(NUL, '\uFFFD') : wellFormed
}

/** One line for a terminal: control characters, line breaks and hidden characters become U+FFFD. */
export function printable(text: string): string {
  return text.replace(CONTROL, '\uFFFD')
}

/** A secret without the line breaks that editors and `echo` add. */
export function withoutFinalLineBreaks(secret: string): string {
  return secret.replace(/[\r\n]+$/, '')
}

/** False if a `%` in it does not begin the code of a character. */
export function isPercentEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}
