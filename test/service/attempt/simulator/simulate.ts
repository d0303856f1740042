import { type Actor, isOutage, startActor } from './actor.ts'
import type { Sabotage } from './defects.ts'
import { own } from './owner.ts'
import { ask, changePreferences, erase, hold, neverStopChanging } from './people.ts'
import { checkCommits, checkEnd } from './promises.ts'
import { serve, serveToTheEnd } from './replica.ts'
import { retryInBackground } from './retries.ts'
import { type Counts, createWorld } from './world.ts'

const STEP_COUNT_MAX = 20_000

/** Runs one schedule beside a database and processes that fail. Returns the broken promises, none if all hold. */
export async function simulate(
  seed: number,
  counts: Counts,
  sabotage: Sabotage = (store) => store,
): Promise<readonly string[]> {
  const world = createWorld(seed, counts)
  const { scheduler, partitions, violations } = world
  checkCommits(world)

  function spawn(run: (actor: Actor) => Promise<void>): void {
    run(startActor(world, sabotage)).catch((error) => {
      if (!isOutage(error)) violations.push(error instanceof Error ? (error.stack ?? '') : '')
    })
  }

  for (const owned of [[0], [0, 1], [1, 0]]) spawn((actor) => own(world, actor, owned))
  for (const run of [retryInBackground, retryInBackground, changePreferences, ask, erase, hold, serve, serve])
    spawn((actor) => run(world, actor))
  const isRestless = world.random.chance(0.25)
  if (isRestless) spawn((actor) => neverStopChanging(world, actor))
  await scheduler.run(STEP_COUNT_MAX)
  world.isFaulty = false
  spawn((actor) => own(world, actor, [...partitions.keys()]))
  spawn((actor) => serveToTheEnd(world, actor))
  if (isRestless) spawn((actor) => neverStopChanging(world, actor))
  await scheduler.run(STEP_COUNT_MAX)
  checkEnd(world)
  return violations
}
