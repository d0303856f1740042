import type { StoredRequest } from '../../service/model/request/schemas.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { cancelRequest } from '../../service/store/write/request-row.ts'
import { printable } from '../../service/text/sanitize.ts'
import { byOption } from '../../terminal/confirm.ts'
import { newCommand, parseId } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { describeWanted } from './describe-request.ts'
import { describeRequest, describeState } from './follow.ts'
import { getRequest, listRequests } from './list-requests.ts'

const LISTED_COUNT = 50

interface Options {
  readonly json?: true
}

const listCommand = (world: World) =>
  newCommand('list', { exitCodes: '0 listed, 1 failed', example: 'requests list' })
    .description(`list the newest ${LISTED_COUNT} requests, newest first`)
    .option('--json', 'one JSON object per line')
    .action(async ({ json }: Options) => {
      await withDatabase(world, async (pool) => {
        const { items } = await listRequests(pool, { limit: LISTED_COUNT, after: null })
        for (const request of items)
          await print(world, json ? JSON.stringify(request) : formatRequest(request))
      })
    })

function formatRequest(request: StoredRequest): string {
  const { requestedAt, by, because } = request
  const asked = `${describeWanted(request)}, by ${by}: ${because}`
  return `${requestedAt}  ${describeState(request)}  ${printable(asked)}`
}

const showCommand = (world: World) =>
  newCommand('show', {
    exitCodes: '0 shown, 1 no request has this id',
    example: 'requests show 12',
  })
    .description('show a request: target, author, reason, progress, and the items left unchanged')
    .argument('<id>', 'the id, as listed', parseId)
    .option('--json', 'as one JSON object')
    .action(async (id: string, { json }: Options) => {
      await withDatabase(world, (pool) => show(world, pool, id, json))
    })

async function show(world: World, pool: DatabasePool, id: string, json?: true): Promise<void> {
  const request = await getRequest(pool, id)
  if (request === null) {
    note(world, `no request has the id ${id}`)
    world.exitCode = 1
    return
  }
  await print(world, ...(json ? [JSON.stringify(request)] : describeRequest(request)))
}

const cancelCommand = (world: World) =>
  newCommand('cancel', {
    exitCodes: '0 cancelled, 1 it had ended, or there is none',
    example: 'requests cancel 12',
  })
    .description('cancel a request that has not ended; what it has done stays')
    .argument('<id>', 'the id, as listed', parseId)
    .addOption(byOption())
    .option('--json', 'print a JSON object')
    .action(async (id: string, { json, by }: Options & { readonly by: string }) => {
      await withDatabase(world, async (pool) => {
        const isCancelled = await cancelRequest(pool, id, by)
        if (json) await print(world, JSON.stringify({ id, isCancelled }))
        else if (isCancelled) await print(world, `request ${id} is cancelled`)
        if (isCancelled) return
        world.exitCode = 1
        const found = await getRequest(pool, id)
        note(
          world,
          found === null ? `no request has the id ${id}` : `request ${id} is ${found.state} already`,
        )
      })
    })

export const requestsCommand = (world: World) =>
  newCommand('requests', { example: 'requests list' })
    .description('list, show and cancel requests to the running service')
    .addCommand(listCommand(world))
    .addCommand(showCommand(world))
    .addCommand(cancelCommand(world))
