/** Limits for each field of a line, since its value may come from a client. */
const TEXT_LENGTH_MAX = 1_000
const ITEM_COUNT_MAX = 20
const DEPTH_MAX = 5

/** Cuts long texts, long lists and deep objects in the fields of a line. Errors have a serializer of their own. */
export function boundFields(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, bound(value, DEPTH_MAX)]))
}

function bound(value: unknown, depthLeft: number): unknown {
  if (typeof value === 'string') return value.length > TEXT_LENGTH_MAX ? cutText(value) : value
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  if (depthLeft === 0) return '…'
  if (Array.isArray(value)) {
    const items = value.slice(0, ITEM_COUNT_MAX).map((item) => bound(item, depthLeft - 1))
    return value.length > ITEM_COUNT_MAX ? [...items, `… ${value.length - ITEM_COUNT_MAX} more`] : items
  }
  if ('toJSON' in value) return value
  const entries = Object.entries(value)
  const kept = entries
    .slice(0, ITEM_COUNT_MAX)
    .map(([name, field]) => [name, bound(field, depthLeft - 1)] as const)
  const more = entries.length > ITEM_COUNT_MAX ? [['…', entries.length - ITEM_COUNT_MAX] as const] : []
  return Object.fromEntries([...kept, ...more])
}

function cutText(text: string): string {
  return `${text.slice(0, TEXT_LENGTH_MAX).toWellFormed()}… ${text.length - TEXT_LENGTH_MAX} more`
}
