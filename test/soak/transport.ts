// node test/stack/with-stack.ts -- node test/soak/transport.ts
// MAILS (3,000) mails through the example transport of test/senders/example to a mail server that is slow, refuses some and
// hangs on some, while the relay and the service are killed KILLS (20) times. Exits 1 if one is lost, given up, or sent by two keys.
import { runTransport } from '../senders/example/run.ts'
import { numberFrom } from '../stack/environment.ts'
import { result, say } from './report.ts'

const mailCount = numberFrom('MAILS', 3_000)
const killCount = numberFrom('KILLS', 20)
const outcome = await runTransport({ mailCount, killCount, seed: numberFrom('SEED', 1), say })
const { kills, hung, refused, repeated, lost, unsent, underOtherKeys } = outcome
result({
  [`the service was killed ${kills.service} times, the relay ${kills.relay} times`]:
    kills.service + kills.relay === killCount,
  [`the mail server refused ${refused} of ${mailCount} recipients, and hung on ${hung} mails`]: true,
  [`${lost} mails are lost`]: lost === 0,
  [`${unsent} rows are not SENT`]: unsent === 0,
  [`${repeated} mails were taken again, ${underOtherKeys} recipients under another key`]:
    underOtherKeys === 0,
})
