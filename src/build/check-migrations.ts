// node src/build/check-migrations.ts <file …>
// Exits 1 where a migration would keep writers waiting; says what to do instead.
import { readFile } from 'node:fs/promises'
import { migrationFaults } from './migration-faults.ts'

for (const file of process.argv.slice(2)) {
  for (const fault of migrationFaults(await readFile(file, 'utf8'))) {
    process.stderr.write(`${file}: ${fault}\n`)
    process.exitCode = 1
  }
}
