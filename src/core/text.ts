const NUL = /\0/g

/** Text that PostgreSQL and UTF-8 can hold: NUL and lone surrogates become U+FFFD. */
export function storable(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replace(NUL, '\uFFFD') : wellFormed
}
