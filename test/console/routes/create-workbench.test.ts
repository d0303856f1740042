import t from 'tap'
import { createWorkbench } from '../../../src/console/routes/create-workbench.ts'
import { readRuleFiles, TEMPLATE_EVENT_TYPES } from '../../../src/service/app/rule-files.ts'
import { GENERIC } from '../../../src/service/decide/templates/template.ts'
import { DEFAULT_OUTCOMES, DEFAULT_PROMISES, DEFAULT_TABLE } from '../../authoring/default-table.ts'
import { openDatabase } from '../../service/store/fixtures.ts'
import { record, UNRESOLVED } from '../../service/store/record.ts'

const { pool, client } = await openDatabase(t)
const ruleFiles = await readRuleFiles()
const workbench = createWorkbench({ repositoryUrl: 'https://github.com/insurer/n' }, ruleFiles, () => pool)
const forever = new AbortController().signal
const LATELY = {
  from: new Date(Date.now() - 86_400_000).toISOString(),
  to: new Date(Date.now() + 3_600_000).toISOString(),
}

t.test('the workbench starts with the files in force and the URL for proposals', async (t) => {
  const start = await workbench.start()
  t.match(start, {
    table: DEFAULT_TABLE,
    promises: DEFAULT_PROMISES,
    templates: [...TEMPLATE_EVENT_TYPES, GENERIC].sort().map((name) => ({
      name: `${name}.mustache`,
      text: /^Subject: .*\{\{(locator|eventType)}}/s,
    })),
    outcomes: DEFAULT_OUTCOMES,
    repositoryUrl: 'https://github.com/insurer/n',
  })
})

t.test('decisions are counted without their entries, which are listed for one group', async (t) => {
  const [first, second, , unresolved] = await record(pool, [
    { eventId: 'paid-1', partyLocator: 'party-1' },
    { eventId: 'paid-2', partyLocator: 'party-2' },
    { eventId: 'issued', eventType: 'policy.issued' },
    { eventId: 'unresolved', contact: UNRESOLVED },
  ])
  const { events, groups, nextCursor } = await workbench.readDecisions(LATELY, forever)
  t.match({ events, nextCursor }, { events: 4, nextCursor: null })
  t.strictSame(groups.map(({ count, locators }) => [count, locators]).sort(), [
    [1, []],
    [1, []],
    [2, []],
  ])
  const idOf = (count: number, outcome: string) =>
    String(groups.find((group) => group.count === count && group.outcome === outcome)?.id)
  const list = (group: string, cursor: string | null = null, period = LATELY) =>
    workbench.listMembers({ ...period, cursor }, group, forever)
  const createdAt = /^20.*Z$/
  t.match(await list(idOf(2, 'SEND')), [
    { locator: first, partyLocator: 'party-1', createdAt },
    { locator: second, partyLocator: 'party-2', createdAt },
  ])
  t.match(await list(idOf(1, 'FAIL')), [{ locator: unresolved }])
  t.match(await list(idOf(2, 'SEND'), String(first)), [{ locator: second }], 'from its cursor on')
  t.strictSame(await list('unknown'), [])
  t.strictSame(await list(idOf(2, 'SEND'), null, { from: LATELY.to, to: '2099-01-01T00:00:00Z' }), [])

  await client.query('DELETE FROM notifications.notification_log WHERE locator = $1', [first])
  t.match(await list(idOf(2, 'SEND')), [{ locator: first, partyLocator: null, createdAt: null }, {}])
})

t.test('the rule table of a decision is read from the archive', async (t) => {
  const { groups } = await workbench.readDecisions(LATELY, forever)
  t.equal(await workbench.readRuleTable(String(groups[0]?.ruleTableRevision)), DEFAULT_TABLE)
  t.equal(await workbench.readRuleTable('unknown'), null)
})

t.test('a client that has left reads nothing', async (t) => {
  const gone = AbortSignal.abort()
  await t.rejects(workbench.readDecisions(LATELY, gone), { name: 'AbortError' })
  await t.rejects(workbench.listMembers(LATELY, 'x', gone), { name: 'AbortError' })
})
