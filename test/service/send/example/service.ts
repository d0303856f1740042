#!/usr/bin/env node
// `serve` with a transport for email in place of the placeholder.
import { PgBoss } from 'pg-boss'
import { createService } from '../../../../src/serve.ts'
import { createSenders } from '../../../../src/service/app/clients.ts'
import { loadConfig } from '../../../../src/service/config/config.ts'
import { createLog } from '../../../../src/service/telemetry/log.ts'
import { stopOnSignals } from '../../../../src/terminal/stop-on-signals.ts'
import { createQueueSender } from './queue-sender.ts'

const config = loadConfig(process.env)
const log = createLog(config.logLevel)
// It only says where the queue's tables are: the sender's statements run on the connection of the attempt.
const boss = new PgBoss({
  connectionString: config.database.url,
  max: 1,
  migrate: false,
  schedule: false,
  supervise: false,
})
boss.on('error', (err) => log.error({ err }, 'the queue cannot be reached'))
await boss.start()
const app = await createService(config, log, {
  ...createSenders(config, log),
  EMAIL: createQueueSender(boss),
})
stopOnSignals(() => app, config.shutdownGraceMs, log)
log.info({ url: await app.start() }, 'listening')
