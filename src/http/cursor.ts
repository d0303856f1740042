import { isLogLocator } from '../core/log-entry.ts'

/** Turns the place where a page ended into the opaque text that a client hands back for the next one. */
export function encodeCursor(locator: string): string {
  return Buffer.from(`1${locator}`).toString('base64url')
}

/** The place that a cursor stands for; null where we cannot have made it. */
export function decodeCursor(cursor: string): string | null {
  const text = Buffer.from(cursor, 'base64url').toString()
  const locator = text.slice(1)
  return isLogLocator(locator) && encodeCursor(locator) === cursor ? locator : null
}
