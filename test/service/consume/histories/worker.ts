import { parentPort, workerData } from 'node:worker_threads'
import { playHistory } from './history.ts'

/** Plays every `step`th seed from `first` to before `end`. Posts the first seed that fails and stops. */
const { first, end, step } = workerData as { first: number; end: number; step: number }
for (let seed = first; seed < end; seed += step) {
  try {
    await playHistory(seed)
  } catch (error) {
    parentPort?.postMessage(`seed ${seed}: ${error instanceof Error ? error.message : error}`)
    break
  }
}
