import type { DatabaseTransactionConnection } from 'slonik'
import { refusesData } from '../connection/errors.ts'

type Write = (savepoint: DatabaseTransactionConnection) => Promise<unknown>

/**
 * Finds the rows that PostgreSQL refuses, by bisection: each part is written in a savepoint that is rolled back. Returns
 * the error of each refused row. `writeProbe` writes a row that only a faulty schema can refuse; it goes first, and where
 * it is refused, that error is thrown: no row is to blame.
 */
export async function findRefused<Row>(
  tx: DatabaseTransactionConnection,
  rows: readonly Row[],
  write: (savepoint: DatabaseTransactionConnection, part: readonly Row[]) => Promise<unknown>,
  writeProbe: Write,
): Promise<ReadonlyMap<Row, Error>> {
  const schemaFault = await tryWrite(tx, writeProbe)
  if (schemaFault !== null) throw schemaFault
  const refused = new Map<Row, Error>()
  const bisect = async (part: readonly Row[]): Promise<void> => {
    const error = await tryWrite(tx, (savepoint) => write(savepoint, part))
    if (error === null) return
    const [only, ...others] = part
    if (only !== undefined && others.length === 0) {
      refused.set(only, error)
      return
    }
    const middle = part.length >> 1
    await bisect(part.slice(0, middle))
    await bisect(part.slice(middle))
  }
  await bisect(rows)
  return refused
}

class RollBack extends Error {}

/** Writes in a savepoint and rolls it back. Returns the error if PostgreSQL refuses the data, else null. */
export async function tryWrite(tx: DatabaseTransactionConnection, write: Write): Promise<Error | null> {
  try {
    return await writeUnlessRefused(tx, async (savepoint) => {
      await write(savepoint)
      throw new RollBack()
    })
  } catch (error) {
    if (error instanceof RollBack) return null
    throw error
  }
}

/** Writes in a savepoint. Returns the error if PostgreSQL refuses the data: then nothing is written. */
export async function writeUnlessRefused(
  tx: DatabaseTransactionConnection,
  write: Write,
): Promise<Error | null> {
  try {
    await tx.transaction(write)
    return null
  } catch (error) {
    if (error instanceof Error && refusesData(error)) return error
    throw error
  }
}
