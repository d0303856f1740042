// echo '{"eventId": …}' | MQ_BROKERS=… node test/stack/publish.ts <topic>
// Publishes each line of the standard input as one message.
import { text } from 'node:stream/consumers'
import { produce } from './topics.ts'

const [topic] = process.argv.slice(2)
const brokers = process.env.MQ_BROKERS
if (topic === undefined || !brokers) {
  console.error("usage: echo '<event>' | MQ_BROKERS=<host:port> node test/stack/publish.ts <topic>")
  process.exit(2)
}
const lines = (await text(process.stdin)).split('\n').filter((line) => line.trim() !== '')
await produce(
  brokers,
  lines.map((value) => ({ topic, value })),
)
console.log(`published to ${topic}: ${lines.length}`)
