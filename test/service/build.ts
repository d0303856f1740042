import { hash } from 'node:crypto'
import type { TriedEvent } from '../../src/authoring/try/try-event.ts'
import type { CommitResult } from '../../src/service/decide/attempt/batch.ts'
import { buildFacts, type Facts, type RecordedFacts } from '../../src/service/decide/decision/facts.ts'
import type { Message } from '../../src/service/decide/event/message.ts'
import { ADDRESSES, type Address, mapAddresses } from '../../src/service/decide/party/channel.ts'
import type { FoundContact } from '../../src/service/decide/party/contact.ts'
import type { Preferences } from '../../src/service/decide/party/preferences.ts'
import { describeFault, type Fault, FaultsError } from '../../src/service/text/faults.ts'

/** The faults for which a file is refused; none if it is accepted. */
export function faultsIn(load: () => unknown): readonly string[] {
  try {
    load()
  } catch (error) {
    if (error instanceof FaultsError) return error.faults.map(describeFault)
    throw error
  }
  return []
}

/** As `faultsIn`, of what loads asynchronously. */
export async function faultsOf(loaded: Promise<unknown>): Promise<readonly string[]> {
  const error = await loaded.then(
    () => null,
    (refusal) => refusal,
  )
  return faultsIn(() => {
    if (error !== null) throw error
  })
}

/** A report with its faults and warnings in words. */
export function inWords<
  Report extends { readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] },
>(report: Report) {
  const [faults, warnings] = [report.faults, report.warnings].map((some) => some.map(describeFault))
  return { ...report, faults, warnings } as Omit<Report, 'faults' | 'warnings'> & {
    faults: string[]
    warnings: string[]
  }
}

/** Facts as they usually are of such a party, but for these. */
export function someFacts(change: Partial<Facts> = {}): Facts {
  const { eventType = 'claim.paid', party = 'found' } = change
  return { ...buildFacts(eventType, party, (_, { usual }) => usual), ...change }
}

/** Where the answers of the tests' policy administration have each address. */
export const ADDRESS_PLACES = mapAddresses((address) => [`/${address}`])

/** A party that is found, with an email address only, but for these. */
export function aFound(change: Partial<FoundContact> = {}): FoundContact {
  return { state: 'found', ...mapAddresses(() => null), email: 'a@example.com', ...change }
}

/** A party whose answer has these addresses, and no place of any other. */
export function anAnswered(addresses: { readonly [A in Address]?: string | null }): FoundContact {
  const without = ADDRESSES.filter((address) => !(address in addresses))
  return { ...aFound({ email: null, ...addresses }), ...(without.length > 0 && { without }) }
}

/** A party's preferences: the defaults, with these changes. */
export function somePreferences(change: Partial<Preferences> = {}): Preferences {
  return {
    preferredChannel: 'EMAIL',
    optedOutEvents: new Set(),
    hasUnreadableOptOuts: false,
    changeId: null,
    ...change,
  }
}

export const OPTED_OUT = somePreferences({ optedOutEvents: new Set(['claim.paid']) })

/** An event with these facts, to be tried. */
export function aTried(facts: RecordedFacts): TriedEvent {
  return {
    event: { eventType: facts.eventType, locator: 'CLM-1', reason: null },
    facts: someFacts(facts),
  }
}

export const sha256 = (text: string): string => hash('sha256', text)

export function aMessage(offset = 0n, value: string | null = 'not an event'): Message {
  return { offset, key: null, value: value === null ? null : Buffer.from(value), headers: {} }
}

/** The result of a commit that wrote nothing. */
export const committedAt = (lastOffset: bigint, change: Partial<Committed> = {}): Committed => ({
  kind: 'committed',
  lastOffset,
  inserted: [],
  rejected: [],
  tombstoneCount: 0,
  ...change,
})
type Committed = Extract<CommitResult, { kind: 'committed' }>
