import t from 'tap'
import { createArchive } from '../../../src/operations/replay/archive.ts'
import type { ReplayedDecision } from '../../../src/operations/replay/rebuild-entry.ts'
import { describeReplayFinding } from '../../../src/operations/replay/replay-finding.ts'
import { missingRow, verify } from '../../../src/operations/replay/verify-entry.ts'
import { rule, table as tableText } from '../../authoring/build.ts'
import { without } from '../../authoring/default-table.ts'
import { someFacts } from '../../service/build.ts'

const A_DECISION: ReplayedDecision = {
  ...{ attempt: 0, outcome: 'SKIP', channel: 'EMAIL', ruleId: 'a', reason: 'x', facts: someFacts() },
  ...{ templateRevision: null, ruleTableRevision: 'r', sendError: null, decidedAt: '', erasedAt: null },
  ...{ eventId: 'e', partyLocator: 'p', eventType: 'claim.paid', variables: null },
}

/** The table as archived, or why it is not available. */
async function archived(csvText: string) {
  const archive = createArchive(
    new Map(),
    async () => csvText,
    () => 'revision',
  )
  return archive.loadTable('revision')
}

t.test("a table without one of today's columns decides by its rules", async (t) => {
  const headings = 'rule,event type,party,preferred channel,email on file,outcome,send by,reason,because'
  const table = await archived(`${headings}\na,,found,,yes,SEND,EMAIL,,Y.\nb,,,,,SKIP,,x,Y.\n`)
  if ('fault' in table) throw new Error(table.fault)
  t.match(table.decide(someFacts()), { ruleId: 'a', outcome: 'SEND', channel: 'EMAIL' })
  t.match(table.decide(someFacts({ emailOnFile: false })), { ruleId: 'b', outcome: 'SKIP' })
})

t.test("a table that does not cover one of today's channels decides the cases that it covers", async (t) => {
  const table = await archived(without('in-app'))
  if ('fault' in table) throw new Error(table.fault)
  t.match(table.decide(someFacts({ preferredChannel: 'SMS' })), { ruleId: 'sms' })
  t.equal(table.decide(someFacts({ preferredChannel: 'IN_APP' })), undefined)
})

t.test('a past table may have columns and cells of another version', async (t) => {
  const table = await archived(
    tableText(
      { ...rule({ party: 'found', optedOut: true }), urgent: 'yes' },
      rule({ rule: 'b', party: 'found', outcome: 'SEND', sendBy: 'IN_APP' }),
      rule({ rule: 'c', outcome: 'HOLD', reason: '' }),
    ),
  )
  if ('fault' in table) throw new Error(table.fault)
  t.match(table.decide(someFacts()), { ruleId: 'b' }, 'the cell of rule a does not matter')
  t.equal(table.decide(someFacts({ optedOut: true })), null, 'rule a may apply')
  t.equal(table.decide(someFacts({ party: 'missing' })), null, 'its outcome is unknown')
})

t.test('a recorded reason is the rule’s, but for a failed look-up or an invalid locator', async (t) => {
  const decide = (outcome: 'SKIP' | 'FAIL') => async () => ({
    decide: () => ({ ruleId: 'a', outcome, channel: 'EMAIL' as const, reason: 'x' }),
  })
  const differs = async (change: Partial<ReplayedDecision>) => {
    const decision = { ...A_DECISION, ...change }
    const loadTable = decide(decision.outcome as 'SKIP' | 'FAIL')
    const { differences } = await verify(
      { locator: 'NTF-1', row: null, decisions: [decision] },
      { findTemplate: () => undefined, loadTable },
    )
    return differences.some(({ kind }) => kind === 'decision')
  }
  const invalid = {
    partyLocator: null,
    facts: { ...someFacts({ party: 'missing' }), invalidLocator: true },
  }
  t.notOk(await differs({}))
  t.ok(await differs({ reason: 'y' }))
  t.ok(await differs({ reason: 'x: an error' }))
  t.notOk(await differs({ ...invalid, reason: 'in other words' }))
  t.ok(await differs({ ...invalid, partyLocator: 'p', reason: 'in other words' }))
  t.notOk(await differs({ partyLocator: null, reason: 'invalid party locator' }), 'of version 1.0')
  t.notOk(await differs({ outcome: 'FAIL', reason: 'x: an error' }))
  t.notOk(await differs({ outcome: 'FAIL', reason: 'x' }))
  for (const reason of ['xy: an error', 'y: x: an error', null])
    t.ok(await differs({ outcome: 'FAIL', reason }))
})

t.test('a row with an outcome of another version is not verified, and not restored', async (t) => {
  const decision = { ...A_DECISION, outcome: 'HOLD' }
  const archive = { findTemplate: () => undefined, loadTable: async () => ({ decide: () => null }) }
  const recorded = { locator: 'NTF-1', row: null, decisions: [decision] }
  t.match(await verify(recorded, archive), { differences: [], unverifiable: [{ isOfOtherVersion: true }] })
  t.equal(missingRow(recorded, archive), null)
})

t.test('a table that tests whether an event type has a template cannot be evaluated later', async (t) => {
  const table = await archived(tableText(rule({ eventType: 'no template' }), rule({ rule: 'b' })))
  t.match(table, {
    fault: /asks for event types with a template, and which had one then is not recorded$/,
    isOfOtherVersion: false,
  })
})

t.test('two long texts are shown from their first difference', async (t) => {
  const same = 'x'.repeat(500)
  const said = describeReplayFinding({
    kind: 'column',
    locator: 'NTF-1',
    column: 'body',
    stored: `${same}a${same}`,
    rebuilt: `${same}b${same}`,
  })
  const [before, after] = ['x'.repeat(30), 'x'.repeat(89)]
  t.equal(said, `NTF-1: body is …"${before}a${after}"…, but its decisions give …"${before}b${after}"…`)
})

t.test('short values are shown whole, and other values unchanged', async (t) => {
  const column = (stored: string | number | null, rebuilt: string | number | null) =>
    describeReplayFinding({ kind: 'column', locator: 'NTF-1', column: 'c', stored, rebuilt })
  t.equal(column('a"b', 'a\n'), 'NTF-1: c is "a\\"b", but its decisions give "a\\n"')
  t.equal(column('\u009b2J', null), 'NTF-1: c is "\uFFFD2J", but its decisions give null')
  t.equal(column(null, 2), 'NTF-1: c is null, but its decisions give 2')
})

t.test('the summary counts in words', async (t) => {
  const summary = (entries: number, differences: number, restored: number, left: number, erased = 0) =>
    describeReplayFinding({ kind: 'summary', entries, erased, differences, restored, left })
  t.equal(summary(1, 0, 0, 0), '1 entry compared: no difference')
  t.equal(summary(7, 1, 0, 1), '7 entries compared: 1 difference')
  t.equal(summary(7, 3, 1, 1), '7 entries compared: 3 differences, 1 row restored, 1 left')
  t.equal(summary(7, 0, 0, 0, 3), '7 entries compared, 3 of them erased: no difference')
})
