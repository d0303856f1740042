/** `NTF-` and a UUID (the specification leaves the identifier open). */
const LOCATOR = /^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** True if a text has the form of a log entry's locator. */
export function isLogLocator(text: string): boolean {
  return LOCATOR.test(text)
}
