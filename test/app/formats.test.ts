import t from 'tap'
import { brokerConnection, createParties, createSenders } from '../../src/app/clients.ts'
import { readRuleFiles, sha256 } from '../../src/app/rule-files.ts'
import { createWorker } from '../../src/app/worker.ts'
import { loadConfig } from '../../src/config/config.ts'
import { unobserved } from '../../src/core/attempt/stage.ts'
import { loadEnvelopeMap } from '../../src/core/event/envelope-map.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { FORMATS } from '../core/event/formats.ts'
import { createWorld } from '../stack/world.ts'

for (const { name, map, message } of FORMATS) {
  t.test(
    `${name}: the right party gets the message about the right claim, and a tombstone is passed over`,
    async (t) => {
      const world = await createWorld({ partitionCount: 1 })
      const source = JSON.stringify(map)
      const ruleFiles = {
        ...(await readRuleFiles()),
        envelopeMap: loadEnvelopeMap(source),
        envelopeMapRevision: { revision: sha256(source), source },
      }
      const config = loadConfig(world.env)
      const log = createLog('silent')
      const pool = await openPool({ databaseUrl: world.databaseUrl, connectionCountMax: 4 })
      const parties = createParties(config, log)
      const worker = createWorker({
        config,
        connection: brokerConnection(config.broker),
        senders: createSenders(config, log),
        ruleFiles,
        parties,
        pool,
        metrics: { stage: unobserved, countConflict: () => {} },
        tracing: null,
        log,
      })
      const running = worker.run()
      t.teardown(async () => {
        await worker.stop()
        await running
        await parties.close()
        await pool.end()
        await world.close()
      })
      await world.publish([
        { key: 'k', ...message('e-1') },
        { key: 'k', value: null },
      ])
      await world.caughtUp()
      t.match(
        await world.sql(
          `SELECT event_id, event_type, party_locator, status, body, variables
         FROM notifications.notification_log JOIN notifications.decision USING (locator, event_id, event_type, party_locator)`,
        ),
        [
          {
            event_id: 'e-1',
            event_type: 'claim.paid',
            party_locator: 'party-7',
            variables: { locator: 'CLM-1', reason: 'late' },
          },
        ],
      )
      t.same(await world.sql('SELECT * FROM notifications.rejected_message'), [])
    },
  )
}
