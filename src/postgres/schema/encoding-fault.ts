/**
 * The reason why a database of this encoding cannot be used, with its remedy, or null. In any other than UTF8 the database refuses
 * characters that events, names and texts may contain.
 */
export function encodingFault(encoding: string): string | null {
  return encoding === 'UTF8'
    ? null
    : `the encoding of the database is ${encoding}, which cannot store every event: create a database with ENCODING 'UTF8' TEMPLATE template0, move the schema there with pg_dump and pg_restore, and name it in DATABASE_URL`
}
