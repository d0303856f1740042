/** Maximum difference between the database's clock and the one whose milliseconds begin a locator. */
const CLOCKS_APART_MAX_MS = 86_400_000

/** All entries from this time on have greater locators. */
export function firstLocatorAt(time: string): string {
  return locatorAt(Date.parse(time) - CLOCKS_APART_MAX_MS)
}

/** All entries before this time have smaller locators. */
export function lastLocatorAt(time: string): string {
  return locatorAt(Date.parse(time) + CLOCKS_APART_MAX_MS)
}

function locatorAt(ms: number): string {
  const hex = Math.max(ms, 0).toString(16).padStart(12, '0')
  return `NTF-${hex.slice(0, 8)}-${hex.slice(8)}`
}
