import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Channel } from '../../../src/core/decision/channel.ts'
import type { PartyState } from '../../../src/core/decision/facts.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'

const csv = readFileSync(new URL('../../../rules/dispatch.csv', import.meta.url), 'utf8')
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const table = await createRuleTable(csv, ['claim.paid'], sha256)

const Y = true
const N = false
const notFound = 'SKIP: party not found'
const optedOut = 'SKIP: event type opted out'
const noEmail = 'SKIP: no email on file'
const noPhone = 'SKIP: no phone on file'
const failed = 'FAIL: contact could not be resolved'

/** Party, opted out, preferred channel, email on file, phone on file; what the specification's dispatch rules say. */
const expectations: [PartyState, boolean, Channel, boolean | null, boolean | null, string][] = [
  ['found', N, 'EMAIL', N, N, noEmail],
  ['found', N, 'EMAIL', N, Y, noEmail],
  ['found', N, 'EMAIL', Y, N, 'SEND by EMAIL'],
  ['found', N, 'EMAIL', Y, Y, 'SEND by EMAIL'],
  ['found', N, 'SMS', N, N, noPhone],
  ['found', N, 'SMS', N, Y, 'SEND by SMS'],
  ['found', N, 'SMS', Y, N, noPhone],
  ['found', N, 'SMS', Y, Y, 'SEND by SMS'],
  ['found', N, 'IN_APP', N, N, 'SEND by IN_APP'],
  ['found', N, 'IN_APP', N, Y, 'SEND by IN_APP'],
  ['found', N, 'IN_APP', Y, N, 'SEND by IN_APP'],
  ['found', N, 'IN_APP', Y, Y, 'SEND by IN_APP'],
  ['found', Y, 'EMAIL', N, N, optedOut],
  ['found', Y, 'EMAIL', N, Y, optedOut],
  ['found', Y, 'EMAIL', Y, N, optedOut],
  ['found', Y, 'EMAIL', Y, Y, optedOut],
  ['found', Y, 'SMS', N, N, optedOut],
  ['found', Y, 'SMS', N, Y, optedOut],
  ['found', Y, 'SMS', Y, N, optedOut],
  ['found', Y, 'SMS', Y, Y, optedOut],
  ['found', Y, 'IN_APP', N, N, optedOut],
  ['found', Y, 'IN_APP', N, Y, optedOut],
  ['found', Y, 'IN_APP', Y, N, optedOut],
  ['found', Y, 'IN_APP', Y, Y, optedOut],
  ['not found', N, 'EMAIL', null, null, notFound],
  ['not found', N, 'SMS', null, null, notFound],
  ['not found', N, 'IN_APP', null, null, notFound],
  ['not found', Y, 'EMAIL', null, null, notFound],
  ['not found', Y, 'SMS', null, null, notFound],
  ['not found', Y, 'IN_APP', null, null, notFound],
  ['unresolved', N, 'EMAIL', null, null, failed],
  ['unresolved', N, 'SMS', null, null, failed],
  ['unresolved', N, 'IN_APP', null, null, failed],
  ['unresolved', Y, 'EMAIL', null, null, failed],
  ['unresolved', Y, 'SMS', null, null, failed],
  ['unresolved', Y, 'IN_APP', null, null, failed],
  ['missing', N, 'EMAIL', null, null, 'SKIP: no party locator'],
]

t.test('the default table gives the dispatch rules of the specification', async (t) => {
  t.equal(new Set(expectations.map((row) => row.slice(0, 5).join())).size, 37, 'all 37 situations are listed')
  for (const [party, optedOut, preferredChannel, emailOnFile, phoneOnFile, expected] of expectations) {
    for (const eventType of ['never.heard.of', 'constructor']) {
      const facts = { eventType, party, optedOut, preferredChannel, emailOnFile, phoneOnFile }
      const { outcome, channel, reason } = table.decide(facts)
      const said = outcome === 'SEND' ? `SEND by ${channel}` : `${outcome}: ${reason}`
      t.equal(said, expected, JSON.stringify(facts))
      t.equal(channel, preferredChannel, 'the row gets the preferred channel')
      if (outcome === 'SEND') t.equal(reason, null, 'a SEND has no reason')
    }
  }
})

t.test('a table knows its source and the hash of it', async (t) => {
  t.equal(table.source, csv)
  t.equal(table.revision, sha256(csv))
})

t.test('every rule of the default table says why in a sentence', async (t) => {
  for (const { id, because } of table.rules) t.match(because, /^[A-Z].*\.$/, id)
})
