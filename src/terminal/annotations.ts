/**
 * A workflow command of GitHub Actions, with which a pull request shows the remark at its line (null: of the whole file). `file` is
 * relative to the root of the repository.
 */
export function workflowCommand(
  level: 'error' | 'warning',
  file: string,
  line: number | null,
  text: string,
): string {
  const place = line === null ? '' : `,line=${line}`
  return `::${level} file=${escapeProperty(file)}${place}::${escapeData(text)}`
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
