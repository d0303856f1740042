import { pino } from 'pino'
import { createKeySet } from '../../service/http/auth/key-set.ts'
import { buildApp } from '../../service/http/public.ts'
import { newCommand } from '../../terminal/options.ts'
import type { World } from '../../terminal/world.ts'

export const openapiCommand = (world: World) =>
  newCommand('openapi', {
    exitCodes: '0 success, 1 failure',
    example: 'openapi > openapi.json',
  })
    .description('print the OpenAPI document of the public routes, for generators of clients')
    .action(() => printDocument(world))

const unused = () => Promise.reject(new Error('only documented'))

const KEY_SET_URL = 'http://localhost/keys'

async function printDocument(world: World): Promise<void> {
  const log = pino({ level: 'silent' })
  const app = buildApp({
    requestCountMax: 1,
    log,
    readiness: unused,
    logEntries: { list: unused, get: unused },
    preferences: { list: unused, get: unused, put: unused },
    tokens: {
      keySetUrl: KEY_SET_URL,
      keySet: createKeySet(KEY_SET_URL, log),
      issuer: null,
      audience: null,
      adminScope: null,
      operatorScope: null,
      adminClaim: 'scope',
      partyClaim: null,
    },
    isUnavailable: () => false,
    observeResponse: () => {},
  })
  await app.ready()
  world.stdout.write(`${JSON.stringify(app.swagger(), null, 2)}\n`)
  await app.close()
}
