import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'

export type Difference =
  | { readonly kind: 'missing'; readonly locator: string; readonly eventId: string }
  | { readonly kind: 'unexplained'; readonly locator: string; readonly eventId: string }
  | {
      readonly kind: 'column'
      readonly locator: string
      readonly column: string
      readonly stored: Value
      readonly rebuilt: Value
    }
  | { readonly kind: 'decision'; readonly locator: string; readonly attempt: number; readonly fault: string }

type Value = string | number | null

export interface Summary {
  readonly entries: number
  /** Number of erased entries among them, without a text to compare. */
  readonly erased: number
  readonly differences: number
  readonly restored: number
  readonly left: number
}

/**
 * A finding of a replay. `unverified`: could not be verified, for one reason reported once for all entries; `locator` is the first.
 * `isOfOtherVersion`: no fault, since another version of the service can verify it.
 */
export type ReplayFinding =
  | Difference
  | {
      readonly kind: 'unverified'
      readonly fault: string
      readonly isOfOtherVersion: boolean
      readonly entries: number
      readonly locator: string
    }
  | ({ readonly kind: 'summary' } & Summary)

export function describeReplayFinding(finding: ReplayFinding): string {
  switch (finding.kind) {
    case 'missing':
      return `${finding.locator}: the row is missing (event ${quote(finding.eventId)})`
    case 'unexplained':
      return `${finding.locator}: no decision explains the row (event ${quote(finding.eventId)})`
    case 'column':
      return `${finding.locator}: ${finding.column} ${describeValues(finding.stored, finding.rebuilt)}`
    case 'decision':
      return `${finding.locator}: attempt ${finding.attempt}: ${finding.fault}`
    case 'unverified':
      return `${finding.fault}: ${finding.entries === 1 ? 'entry' : `${finding.entries} entries, the first`} ${finding.locator}`
    case 'summary':
      return describeSummary(finding)
    default:
      return finding satisfies never
  }
}

function describeSummary({ entries, erased, differences, restored, left }: Summary): string {
  const without = erased === 0 ? '' : `, ${erased} of them erased`
  const found = `${counted(entries, 'entry', 'entries')} compared${without}: ${differences === 0 ? 'no difference' : counted(differences, 'difference')}`
  return restored === 0 ? found : `${found}, ${counted(restored, 'row')} restored, ${left} left`
}

function describeValues(stored: Value, rebuilt: Value): string {
  const start =
    typeof stored === 'string' && typeof rebuilt === 'string' ? firstDifference(stored, rebuilt) : 0
  return `is ${quote(stored, start)}, but its decisions give ${quote(rebuilt, start)}`
}

const QUOTED_LENGTH_MAX = 120
const SAME_LENGTH_MAX = 30

/** Start of the quotes from two long texts, so that they show the first difference. */
function firstDifference(stored: string, rebuilt: string): number {
  let position = 0
  while (position < stored.length && stored[position] === rebuilt[position]) position++
  return Math.max(position - SAME_LENGTH_MAX, 0)
}

function quote(value: Value, start = 0): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  const end = start + QUOTED_LENGTH_MAX
  const part = printable(JSON.stringify(value.slice(start, end)))
  return `${start > 0 ? '…' : ''}${part}${end < value.length ? '…' : ''}`
}
