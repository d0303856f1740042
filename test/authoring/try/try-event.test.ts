import t from 'tap'
import { describeTried, tryEvent } from '../../../src/authoring/try/try-event.ts'
import { CHANNELS } from '../../../src/service/decide/party/channel.ts'
import { aTried, someFacts } from '../../service/build.ts'
import { createTable, DEFAULT_TABLE } from '../default-table.ts'
import { templatesWith } from '../templates/files.ts'

const templates = templatesWith({})
const table = await createTable(DEFAULT_TABLE)

const found = someFacts({ eventType: 'claim.rejected', preferredChannel: 'SMS' })

t.test('a message is shown as it would be sent, and by SMS with its length', async (t) => {
  const tried = tryEvent(table, templates, aTried(found))
  t.strictSame(tried.sms, { encoding: 'GSM-7', segments: 2 })
  t.match(describeTried(tried), [
    /^SEND by text message by rule "sms", for claim\.rejected, party found, .*: The member prefers text messages/,
    '  not by rule "unresolved": "party" must be unresolved, but is found',
  ])
  t.match(
    describeTried(tried).join('\n'),
    /\n\nSubject: A decision on your claim\n\nHello,\n.*CLM-1.*By text message: 2 segments \(GSM-7\)$/s,
  )
  const { sms } = tryEvent(table, templates, {
    ...aTried(found),
    event: { eventType: 'claim.rejected', locator: '✓', reason: null },
  })
  t.equal(sms?.encoding, 'UCS-2')
  for (const preferredChannel of CHANNELS.filter((channel) => channel !== 'SMS'))
    t.equal(tryEvent(table, templates, aTried({ ...found, preferredChannel })).sms, null)
})

t.test('an unsent message is marked as such, with the text that a retry would send', async (t) => {
  const skipped = tryEvent(table, templates, aTried({ ...found, phoneOnFile: false }))
  t.equal(skipped.text, null)
  t.equal(describeTried(skipped).at(-1), 'No message is sent.')
  const unresolved = aTried(someFacts({ party: 'unresolved' }))
  t.match(
    describeTried(tryEvent(table, templates, unresolved)).join('\n'),
    'Nothing is sent now; a retry would send:',
  )
  t.equal(tryEvent(table, templates, unresolved).sms, null)
})
