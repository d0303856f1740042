/** `NTF-` and a UUID (the specification leaves the identifier open). */
const LOCATOR = /^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export function isLogLocator(text: string): boolean {
  return LOCATOR.test(text)
}
