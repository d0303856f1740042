import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { COMMANDS } from '../../src/commands.ts'
import { loadConfig } from '../../src/service/config/config.ts'
import { variables } from '../../src/service/config/variables.ts'
import { MAIN } from '../stack/executable.ts'

const folder = new URL('../../src/deploy/kubernetes/', import.meta.url)
const manifests = readdirSync(folder)
  .filter((file) => file !== 'kustomization.yaml')
  .flatMap((file) =>
    parseAllDocuments(readFileSync(new URL(file, folder), 'utf8')).map((document) => ({
      file,
      manifest: document.toJS(),
    })),
  )

/** Faults by the types of Kubernetes, which know all fields. */
function typeFaults(checked: readonly { apiVersion: string; kind: string }[]): string[] {
  const source = checked
    .map(
      (manifest, index) =>
        `import type { I${manifest.kind} as T${index} } from 'kubernetes-models/${manifest.apiVersion}'\n` +
        `export const manifest${index}: T${index} = ${JSON.stringify(manifest)}\n`,
    )
    .join('')
  const name = new URL('manifests.ts', import.meta.url).pathname
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    noEmit: true,
    types: [],
  }
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.getSourceFile = (file, version) =>
    file === name ? ts.createSourceFile(file, source, version) : getSourceFile(file, version)
  host.fileExists = (file) => file === name || fileExists(file)
  return ts
    .getPreEmitDiagnostics(ts.createProgram([name], options, host))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

t.test('the manifests are valid by the types of Kubernetes', async (t) => {
  // The types have none of the Prometheus Operator.
  const own = manifests.filter(({ manifest }) => !manifest.apiVersion.startsWith('monitoring.coreos.com/'))
  t.strictSame(typeFaults(own.map(({ manifest }) => manifest)), [])
  const spoilt = structuredClone(manifestOf('deployment.yaml'))
  Object.assign(spoilt.spec.template.spec.containers[0], {
    ports: [{ containerPort: 'http' }],
    readinesProbe: {},
  })
  t.match(typeFaults([spoilt]).join(), /string.*number|readinesProbe.* does not exist/s)
})

t.test('the settings are valid, and all required ones are there', async (t) => {
  const { data } = manifestOf('settings.yaml')
  const container = manifestOf('deployment.yaml').spec.template.spec.containers[0]
  const fromPod = { DATABASE_PASSWORD_FILE: MAIN, MANAGEMENT_PORT: '4007', MANAGEMENT_HOST: '0.0.0.0' }
  const { warnings } = loadConfig({ ...data, ...fromPod })
  t.strictSame(warnings, [])
  const named = [...Object.keys(data), ...container.env.map(({ name }: { name: string }) => name)]
  t.strictSame(
    named.filter((name) => !Object.hasOwn(variables.shape, name)),
    [],
  )
})

const podOf = (manifest: (typeof manifests)[number]['manifest']) =>
  manifest.kind === 'CronJob' ? manifest.spec.jobTemplate.spec.template : manifest.spec.template
const workloads = manifests.filter(({ manifest }) => ['Deployment', 'Job', 'CronJob'].includes(manifest.kind))

t.test('each pod says what it needs, each Job ends, and nobody calls one', async (t) => {
  const jobs = manifests.find(({ manifest }) => manifest.metadata.name === 'notifications-service-jobs')
  const guarded = jobs?.manifest.spec.podSelector.matchExpressions[0].values
  for (const { file, manifest } of workloads) {
    const { metadata, spec } = podOf(manifest)
    for (const { resources, imagePullPolicy } of spec.containers) {
      t.match(resources.requests, { cpu: String, memory: String, 'ephemeral-storage': String }, file)
      t.match(resources.limits, { memory: String, 'ephemeral-storage': String }, file)
      t.equal(imagePullPolicy, 'IfNotPresent', file)
    }
    if (manifest.kind === 'Deployment') continue
    const job = manifest.kind === 'CronJob' ? manifest.spec.jobTemplate.spec : manifest.spec
    t.ok(job.activeDeadlineSeconds > 0, file)
    t.ok(guarded.includes(metadata.labels['app.kubernetes.io/name']), file)
  }
})

t.test('a Job with the settings of the service finds the files that these name', async (t) => {
  const { volumeMounts } = manifestOf('deployment.yaml').spec.template.spec.containers[0]
  for (const { file, manifest } of workloads) {
    const [container] = podOf(manifest).spec.containers
    const names = container.envFrom.map((one: { configMapRef: { name: string } }) => one.configMapRef.name)
    const paths = container.volumeMounts.map(({ mountPath }: { mountPath: string }) => mountPath)
    if (names.includes('notifications-service'))
      for (const { mountPath } of volumeMounts) t.ok(paths.includes(mountPath), `${file} ${mountPath}`)
  }
})

t.test('the commands of the Jobs have their options', async (t) => {
  for (const { file, manifest } of workloads) {
    const [first, ...args]: string[] = podOf(manifest).spec.containers[0].args ?? []
    const load = Object.entries(COMMANDS).find(([name]) => name === first)?.[1]
    if (load === undefined) continue
    const command = (await load())(process)
    const inner = command.commands.find((one) => one.name() === args[0]) ?? command
    const known = inner.options.map(({ long }) => long)
    const used = args.filter((arg) => arg.startsWith('--')).map((arg) => arg.split('=')[0])
    t.strictSame(
      used.filter((name) => !known.includes(name)),
      [],
      file,
    )
  }
})

t.test('a pod has time to stop in order', async (t) => {
  const { spec } = manifestOf('deployment.yaml').spec.template
  const [, preStopS] = spec.containers[0].lifecycle.preStop.exec.command
  const { shutdownGraceMs } = loadConfig(manifestOf('settings.yaml').data)
  t.ok(Number(preStopS) + shutdownGraceMs / 1_000 < spec.terminationGracePeriodSeconds)
})

t.test('the documented commands create what the next ones need', async (t) => {
  const readme = readFileSync(new URL('../README.md', folder), 'utf8')
  const created = new Set<string>()
  const filesOf = (path: string) => {
    const name = path.split('/').at(-1) ?? ''
    return name.endsWith('.yaml')
      ? [name]
      : parse(readFileSync(new URL('kustomization.yaml', folder), 'utf8')).resources
  }
  for (const [, command, path = ''] of readme.matchAll(
    /^ {4}(?:job=\$\()?kubectl (create secret generic|create configmap|apply -\w|create -f) (\S+)/gm,
  )) {
    if (command === 'create secret generic') created.add(`Secret ${path}`)
    else if (command === 'create configmap') created.add(`ConfigMap ${path}`)
    else {
      const applied = manifests
        .filter(({ file }) => filesOf(path).includes(file))
        .map(({ manifest }) => manifest)
      for (const { kind, metadata } of applied) created.add(`${kind} ${metadata.name}`)
      t.strictSame(
        applied.flatMap(needsOf).filter((need) => !created.has(need)),
        [],
        `${command} ${path}`,
      )
    }
  }
  t.ok(created.has('Deployment notifications-service'))
  t.notMatch(readme, /kubectl wait .* -l /, 'old jobs stay for a day')
})

/** The ConfigMaps and Secrets without which its pods do not start. */
function needsOf(manifest: object): string[] {
  const found: string[] = []
  JSON.stringify(manifest, (key, value) => {
    if (value?.optional === true) return undefined
    if (/^configMap/.test(key)) found.push(`ConfigMap ${value.name}`)
    if (/^secret(KeyRef)?$/.test(key)) found.push(`Secret ${value.secretName ?? value.name}`)
    return value
  })
  return found
}

t.test('the image is built with the pinned Node, and labelled with version and licence', async (t) => {
  const dockerfile = readFileSync(new URL('../Dockerfile', folder), 'utf8')
  const { devDependencies, version, license } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  t.match(dockerfile, `ARG NODE_VERSION=${devDependencies.node}\n`)
  t.match(dockerfile, `org.opencontainers.image.version="${version}"`)
  t.match(dockerfile, `-t notifications-service:${version} .`)
  t.match(readFileSync(new URL('../README.md', folder), 'utf8'), `-t notifications-service:${version} .`)
  t.match(dockerfile, `org.opencontainers.image.licenses="${license}"`)
})

t.test(
  'the manifest of alerts has those of Prometheus, and the monitor finds the port of the pods',
  async (t) => {
    const alerts = parse(readFileSync(new URL('../../service/telemetry/alerts.yaml', folder), 'utf8'))
    t.strictSame(manifestOf('prometheus-rule.yaml').spec, alerts, 'run `make format`')
    const { selector, podMetricsEndpoints } = manifestOf('pod-monitor.yaml').spec
    const { template } = manifestOf('deployment.yaml').spec
    t.hasStrict(template.metadata.labels, selector.matchLabels)
    const ports = template.spec.containers[0].ports.map(({ name }: { name: string }) => name)
    t.ok(ports.includes(podMetricsEndpoints[0].port))
  },
)

function manifestOf(file: string) {
  return manifests.find((candidate) => candidate.file === file)?.manifest
}
