import { listSome } from '../../text/count.ts'
import { type EventTypeCell, matchesEventType } from './event-type-cell.ts'

/** All event types that no cell names, even by a wildcard. */
export const UNNAMED = 'any other event type'

/** Up to this many names are listed: `UNNAMED` is vaguer, since it may include types that have texts. */
const EXCEPTED_COUNT_MAX = 8

/** Event types that no rule distinguishes. */
export interface EventClass {
  readonly representative: string
  /** In words, such as `claim.paid`, `any other claim.*`, `any other event type`. */
  readonly members: readonly string[]
  /** Like `members`, but `claim.*` if no other cell names a type or a wildcard of that family. */
  readonly words: readonly string[]
  /** True if an event type cell can name all of them, by their words. */
  readonly isNamable: boolean
}

/**
 * Folds all possible event types into the classes that these cells distinguish. A type is known by its name if a cell has it,
 * else by the longest wildcard prefix that matches it, which decides all shorter ones. One fresh type per prefix, and one without
 * a prefix, stand for all unnamed types.
 */
export function foldEventTypes(
  cells: readonly EventTypeCell[],
  knownEventTypes: readonly string[],
): {
  readonly classes: readonly EventClass[]
  /** Position in `classes`: 0 if no cell names the type. Unknown types are not cached: memory grows with the table only. */
  readonly findClass: (eventType: string) => number
} {
  const distinct = [...new Map(cells.map((cell) => [cellKey(cell), cell])).values()]
  const names = new Set(distinct.flatMap((cell) => cell.names))
  const prefixes = [...new Set(distinct.flatMap((cell) => cell.prefixes))].sort((a, b) => b.length - a.length)

  const classes: (EventClass & { members: string[]; words: string[]; isNamable: boolean })[] = []
  const classOfSignature = new Map<string, number>()
  /** `name`: what an event type cell calls the member; null if it cannot name it. */
  function fold(representative: string, member: string, name: string | null): number {
    const signature = distinct.map((cell) => (matchesEventType(cell, representative) ? '1' : '0')).join('')
    const index = classOfSignature.get(signature) ?? classes.length
    const eventClass = classes[index] ?? { representative, members: [], words: [], isNamable: true }
    eventClass.members.push(member)
    eventClass.words.push(name ?? member)
    eventClass.isNamable &&= name !== null
    classes[index] = eventClass
    classOfSignature.set(signature, index)
    return index
  }

  const classOfNone = fold(freshType('', names), UNNAMED, null)
  const classOfPrefix = prefixes.map((prefix) => {
    const isDivided = [...names, ...prefixes].some((other) => other !== prefix && other.startsWith(prefix))
    return fold(freshType(prefix, names), `any other ${prefix}*`, isDivided ? null : `${prefix}*`)
  })
  const classOfType = new Map<string, number>()
  for (const name of names) classOfType.set(name, fold(name, name, name))

  function classOfUnknown(eventType: string): number {
    for (let i = 0; i < prefixes.length; i++) {
      if (eventType.startsWith(prefixes[i] as string)) return classOfPrefix[i] as number
    }
    return classOfNone
  }
  for (const eventType of knownEventTypes) {
    if (!names.has(eventType)) classOfType.set(eventType, classOfUnknown(eventType))
  }
  return { classes, findClass: (eventType) => classOfType.get(eventType) ?? classOfUnknown(eventType) }
}

/**
 * Example: "every event type", "claim.paid, policy.issued", or "every event type but claim.rejected" if that lists no more or only
 * a few; at most `countMax` names.
 */
export function describeClasses(
  named: readonly EventClass[],
  classes: readonly EventClass[],
  countMax = Number.POSITIVE_INFINITY,
): string {
  if (named.length === classes.length) return 'every event type'
  const words = listWords(named)
  const exceptions = listWords(classes.filter((eventClass) => !named.includes(eventClass)))
  const [unnamed] = classes
  return named.some((eventClass) => eventClass === unnamed) &&
    exceptions.length <= Math.max(words.length, EXCEPTED_COUNT_MAX)
    ? `every event type but ${listSome(exceptions, countMax)}`
    : listSome(words, countMax)
}

function listWords(classes: readonly EventClass[]): string[] {
  return classes.flatMap(({ words }) => words)
}

/** `no template` may mean different types in the two tables. */
function cellKey({ negated, names, prefixes }: EventTypeCell): string {
  return JSON.stringify([negated, names, prefixes])
}

/** An unnamed type with this prefix, but with no longer one: those have one more dot. */
function freshType(prefix: string, names: ReadonlySet<string>): string {
  let fresh = `${prefix}other`
  while (names.has(fresh)) fresh += '-'
  return fresh
}
