import t from 'tap'
import { createBacktest } from '../../../src/authoring/back-test/decide-groups.ts'
import type { DecisionGroup } from '../../../src/service/model/decision-group.ts'
import { above, rule } from '../build.ts'
import { createTable, DEFAULT_TABLE, SITUATIONS } from '../default-table.ts'

const shipped = await createTable(DEFAULT_TABLE)
const MUTED = rule({ rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' })
const muted = await createTable(above('opted-out', [MUTED]))
const reasonOf = (_: string, ruleId: string) => shipped.rules.find(({ id }) => id === ruleId)?.reason

/** A group for every situation of some event types, as the shipped table decides them, of 1, 2, 3 … events. */
function groups(): DecisionGroup[] {
  return ['invoice.paid', 'claim.paid', 'unknown'].flatMap((eventType) =>
    SITUATIONS.map((situation, i) => {
      const facts = { eventType, ...situation }
      const { ruleId, outcome, channel } = shipped.decide(facts)
      const recorded = {
        id: `${eventType} ${i}`,
        facts,
        earlier: [],
        onRequest: false,
        ruleId,
        outcome,
        channel,
        ruleTableRevision: 'r',
        isPartyInvalid: false,
      }
      return { ...recorded, count: i + 1, locators: [`NTF-${eventType}-${i}`] }
    }),
  )
}
function backtest(candidate: typeof shipped, all = groups(), reason: typeof reasonOf = reasonOf) {
  const test = createBacktest(candidate, reason)
  for (const group of all) test.add(group)
  return test.result()
}

/** An event that was first unresolved, then sent. */
function retried(eventType = 'invoice.paid'): DecisionGroup {
  const [sent] = groups().filter(({ facts, ruleId }) => facts.eventType === eventType && ruleId === 'email')
  const [failed] = groups().filter(
    ({ facts, outcome }) => facts.eventType === eventType && outcome === 'FAIL',
  )
  const earlier = [failed as DecisionGroup]
  return { ...(sent as DecisionGroup), earlier, count: 5 }
}

t.test('an event counts by its last result: a change for parties first unresolved is found', async (t) => {
  t.match(backtest(shipped, [retried()]), { events: 5, changed: 0 })
  t.match(backtest(muted, [retried()]), {
    changed: 5,
    changes: [{ facts: { party: 'found' }, before: { outcome: 'SEND' }, after: { ruleId: 'muted' } }],
  })
  const givenUp = await createTable(DEFAULT_TABLE.replace(',FAIL,', ',SKIP,'))
  t.match(backtest(givenUp, [retried()]), {
    changed: 5,
    changes: [{ facts: { party: 'unresolved' }, before: { outcome: 'SEND' }, after: { outcome: 'SKIP' } }],
  })
})

t.test('a skipped event retried on request is decided by the facts of that time', async (t) => {
  const [skipped] = groups().filter(({ ruleId }) => ruleId === 'party-not-found') as [DecisionGroup]
  const group = { ...retried(skipped.facts.eventType), earlier: [skipped], onRequest: true }
  const twice = { ...group, earlier: [skipped, { ...skipped, onRequest: true }] }
  for (const asked of [group, twice])
    t.match(backtest(shipped, [asked]), { events: 5, changed: 0, changes: [] })
  for (const unasked of [
    { ...group, onRequest: false },
    { ...twice, earlier: [skipped, skipped] },
  ])
    t.match(backtest(shipped, [unasked]), { changed: 5, changes: [{ after: { outcome: 'SKIP' } }] })
  t.match(backtest(muted, [group]), { changed: 5, changes: [{ after: { ruleId: 'muted' } }] })
})

t.test('groups with the same change are added up', async (t) => {
  const [group] = groups().filter(({ ruleId }) => ruleId === 'email') as [DecisionGroup]
  const all = ['a', 'b', 'c', 'd'].map((ruleTableRevision) => ({ ...group, count: 10, ruleTableRevision }))
  const { changes } = backtest(muted, all)
  t.match(changes, [{ count: 40 }])
  t.equal(changes.length, 1)
})

t.test("another reason changes an event, unless the reason is unknown or not a table's", async (t) => {
  const reworded = await createTable(DEFAULT_TABLE.replace(',no party locator,', ',nobody,'))
  const [missing] = groups().filter(({ facts }) => facts.party === 'missing') as [DecisionGroup]
  t.match(backtest(reworded, [missing]), { changed: missing.count })
  t.match(
    backtest(reworded, [missing], () => undefined),
    { changed: 0 },
  )
  t.match(backtest(reworded, [{ ...missing, isPartyInvalid: true }]), { changed: 0 })
  const failing = await createTable(DEFAULT_TABLE.replace(',SKIP,,no party', ',FAIL,,no party'))
  t.match(backtest(failing, [{ ...missing, isPartyInvalid: true }]), { changed: missing.count })
})

t.test('an event that no rule was for keeps that reason beside a rule of the candidate', async (t) => {
  const [first] = groups().filter(
    ({ facts }) => facts.eventType === 'invoice.paid' && facts.party === 'found',
  )
  const unnamed = { ...(first as DecisionGroup), ruleId: '(unknown channel)', outcome: 'FAIL' as const }
  const [change] = backtest(muted, [unnamed]).changes
  t.match(change, { before: { reason: 'no rule for this channel' }, after: { reason: 'muted' } })
})

t.test('the result stays small for any number of event types', async (t) => {
  const [group] = groups().filter(({ ruleId }) => ruleId === 'email') as [DecisionGroup]
  const all = Array.from({ length: 3_000 }, (_, i) => ({
    ...group,
    facts: { ...group.facts, eventType: `type-${i}` },
  }))
  const silent = await createTable(above('opted-out', [{ ...MUTED, 'event type': 'not claim.rejected' }]))
  const { changes, events } = backtest(silent, all)
  t.equal(changes.length, 1_001)
  t.equal(events, 3_000 * group.count)
  t.match(changes[0], { eventType: '(other event types)', count: 2_000 * group.count })
})

t.test('events with facts that only another version knows are counted, and not decided again', async (t) => {
  const [sent] = groups().filter(({ ruleId }) => ruleId === 'email')
  const ofOther = { ...(sent as DecisionGroup), channel: 'PIGEON', ruleId: 'push', count: 3 }
  const facts = { ...ofOther.facts, preferredChannel: 'PIGEON' }
  const result = backtest(shipped, [retried(), { ...ofOther, facts }])
  t.match(result, { events: 8, changed: 0, undecided: 3 })
  const known = { ...ofOther, facts: ofOther.facts, earlier: [{ facts, outcome: 'FAIL', onRequest: false }] }
  t.match(backtest(shipped, [known]), { undecided: 0, changed: 3 })
})
