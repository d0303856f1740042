import t from 'tap'
import {
  type GroupPosition,
  LISTED_COUNT_MAX,
  listChanged,
  reportBacktest,
} from '../../../src/authoring/back-test/backtest-report.ts'
import { createBacktest } from '../../../src/authoring/back-test/decide-groups.ts'
import type { DecisionGroup, ListedMember } from '../../../src/service/model/decision-group.ts'
import fc from '../../stack/properties.ts'
import { above, rule } from '../build.ts'
import { createTable, DEFAULT_TABLE, SITUATIONS } from '../default-table.ts'

const shipped = await createTable(DEFAULT_TABLE)
const muted = await createTable(
  above('opted-out', [rule({ rule: 'muted', eventType: 'claim.paid', party: 'found', reason: 'muted' })]),
)
const reasonOf = (_: string, ruleId: string) => shipped.rules.find(({ id }) => id === ruleId)?.reason

function aGroup(eventType: string, index: number, count: number): DecisionGroup {
  const facts = { eventType, ...(SITUATIONS[index] as (typeof SITUATIONS)[number]) }
  const { ruleId, outcome, channel } = shipped.decide(facts)
  const recorded = { facts, ruleId, outcome, channel, ruleTableRevision: 'r1', earlier: [], onRequest: false }
  return { ...recorded, id: `${eventType} ${index}`, isPartyInvalid: false, count, locators: [] }
}
const FOUND = SITUATIONS.findIndex(
  (situation) => shipped.decide({ eventType: 'claim.paid', ...situation }).ruleId === 'email',
)

/** A source with these pages, and what was asked of it. */
function aSource(pages: readonly (readonly DecisionGroup[])[]) {
  const asked: (string | null)[] = []
  const readPage = async (cursor: string | null) => {
    asked.push(cursor)
    const at = Number(cursor ?? 0)
    const groups = [...(pages[at] ?? [])]
    const events = groups.reduce((sum, { count }) => sum + count, 0)
    return { events, groups, nextCursor: at + 1 < pages.length ? String(at + 1) : null }
  }
  const readRuleTable = async (revision: string) => {
    asked.push(revision)
    return revision === 'r1' ? DEFAULT_TABLE : null
  }
  return { asked, readPage, readRuleTable }
}
const report = (source: ReturnType<typeof aSource>, onProgress: (count: number) => void = () => {}) =>
  reportBacktest(muted, source, [], onProgress)
/** Members such as `0/claim.paid 4/1`: of the first page. */
const membersOf =
  (count: number) =>
  async ({ cursor, group }: GroupPosition): Promise<ListedMember[]> =>
    Array.from({ length: count }, (_, i) => ({
      locator: `${cursor ?? 0}/${group}/${i}`,
      partyLocator: 'party-1',
      createdAt: null,
    }))

t.test('pages are asked for one after the other, and each rule table once', async (t) => {
  const source = aSource([[aGroup('claim.paid', FOUND, 2)], [], [aGroup('claim.paid', FOUND, 3)]])
  const progress: number[] = []
  t.match(await report(source, (count) => progress.push(count)), { events: 5, changed: 5, undecided: 0 })
  t.strictSame(source.asked, [null, 'r1', '1', '2'])
  t.strictSame(progress, [2, 2, 5])
})

t.test('pages add up to the whole', async () => {
  const group = fc
    .tuple(
      fc.constantFrom('claim.paid', 'claim.rejected', 'unknown'),
      fc.nat(SITUATIONS.length - 1),
      fc.integer({ min: 1, max: 2_000 }),
    )
    .map((args) => aGroup(...args))
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(group, { maxLength: 5 }), { minLength: 1, maxLength: 5 }),
      async (pages) => {
        const whole = createBacktest(muted, reasonOf)
        for (const one of pages.flat()) whole.add(one)
        const { events, changed, byAnotherRule, undecided, changes } = whole.result()
        const paged = await report(aSource(pages))
        const counts = paged.kinds.flatMap((kind) => kind.changes.map(([{ count }]) => count))
        const same = [events, changed, byAnotherRule, undecided, ...changes.map(({ count }) => count)]
        if (`${[paged.events, paged.changed, paged.byAnotherRule, paged.undecided, ...counts]}` !== `${same}`)
          throw new Error(`${JSON.stringify(paged)}, not ${same}`)
        for (const [{ count }, places] of paged.kinds.flatMap((kind) => kind.changes))
          if (places.length === 0 || places.length > count)
            throw new Error(`${places.length} places of ${count}`)
      },
    ),
    { numRuns: 200 },
  )
})

t.test('changes of one kind are counted by event type, and listed with their members', async (t) => {
  const source = aSource([
    [aGroup('claim.paid', FOUND, 2), aGroup('unknown', FOUND, 9)],
    [aGroup('claim.paid', FOUND, 1)],
  ])
  const { kinds } = await report(source)
  t.match(kinds, [{ kind: 'no longer sent', count: 3, eventTypes: 'claim.paid 3' }])
  t.equal(kinds.length, 1)
  const [kind] = kinds as [(typeof kinds)[number]]
  const event = {
    change: 'no longer sent',
    ...{ eventType: 'claim.paid', before: 'SEND by email', after: 'SKIP (muted)' },
    ...{ ruleBefore: 'email', ruleAfter: 'muted', partyLocator: 'party-1', createdAt: null },
  }
  t.strictSame(await listChanged(kind, membersOf(1)), [
    { ...event, locator: `0/claim.paid ${FOUND}/0` },
    { ...event, locator: `1/claim.paid ${FOUND}/0` },
  ])
})

t.test('a list ends at its limit, and so do the places that are kept for it', async (t) => {
  const half = LISTED_COUNT_MAX / 2
  const pages = Array.from({ length: 5 }, () => [aGroup('claim.paid', FOUND, half)])
  const { kinds } = await report(aSource(pages))
  const [kind] = kinds as [(typeof kinds)[number]]
  t.match(kind, { count: 5 * half })
  t.strictSame(
    kind.changes[0]?.[1].map(({ cursor }) => cursor),
    [null, '1'],
  )
  t.equal((await listChanged(kind, membersOf(half + 1))).length, LISTED_COUNT_MAX)
})

t.test('many event types are named up to a readable number', async (t) => {
  const all = await createTable(
    above('opted-out', [rule({ rule: 'muted', eventType: 'type.*', party: 'found', reason: 'muted' })]),
  )
  const groups = Array.from({ length: 22 }, (_, i) => aGroup(`type.${i}`, FOUND, 100 - i))
  const { kinds } = await reportBacktest(all, aSource([groups]), [], () => {})
  t.match(kinds[0]?.eventTypes, /^type\.0 100, type\.1 99, .*type\.19 81, 2 more event types$/)
})

t.test('a page that cannot be read ends the back-test', async (t) => {
  const source = { ...aSource([[]]), readPage: async () => Promise.reject(new Error('down')) }
  await t.rejects(
    reportBacktest(muted, source, [], () => {}),
    { message: 'down' },
  )
})
