// The files from `ashlar make:deploy kubernetes`: valid according to Kubernetes' types, and consistent with the
// application.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { edit, generatedApplication } from "../support/generated-application.ts";
import { type KubernetesObject, kubernetesObjects, kubernetesProblems } from "../support/kubernetes-objects.ts";

interface Objects {
  readonly all: readonly KubernetesObject[];
  of(kind: string): KubernetesObject;
}

async function objectsFor(root: string, ...flags: string[]): Promise<Objects> {
  expect(await ashlar(root, "make:deploy", "kubernetes", ...flags)).toMatchObject({ code: 0, errors: "" });
  const files = ["deploy/kubernetes.migrate.yaml", "deploy/kubernetes.yaml"].filter((file) =>
    existsSync(join(root, file)),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(root, file), "utf8")));
  const all = texts.flatMap(kubernetesObjects);
  return { all, of: (kind) => all.find((object) => object.kind === kind)! };
}

const KINDS = ["Job", "Deployment", "Service", "Ingress", "PodDisruptionBudget", "HorizontalPodAutoscaler"];

test.each(["postgres", "mariadb"] as const)("Kubernetes' types accept the objects for %s", async (database) => {
  const { all } = await objectsFor(await generatedApplication({ database }), "--domain", "shop.example");
  expect(all.map(({ kind }) => kind)).toEqual(KINDS);
  expect(await kubernetesProblems(all)).toBe("");
});

test("without a database and health checks, there is neither job nor probe, and the types accept it", async () => {
  const root = await generatedApplication({ pages: false, api: false });
  await edit(root, "config/providers.ts", ["  DatabaseProvider,\n", ""], ["  AuthProvider,\n", ""]);
  await edit(root, "config/app.ts", ["} satisfies", "  server: { health: false },\n} satisfies"]);
  const { all, of } = await objectsFor(root);
  expect(all.map(({ kind }) => kind)).toEqual(KINDS.slice(1));
  const [container] = of("Deployment").spec.template.spec.containers;
  expect(Object.keys(container).filter((name) => name.endsWith("Probe"))).toEqual([]);
  expect(JSON.stringify(all)).not.toContain("DATABASE");
  expect(await kubernetesProblems(all)).toBe("");
});

test("the types would refuse a field that Kubernetes doesn't know, and a value of another type", async () => {
  const { all } = await objectsFor(await generatedApplication({ database: "postgres" }));
  const [, deployment] = structuredClone(all) as KubernetesObject[];
  deployment!.spec.template.spec.containers[0].readOnly = true;
  deployment!.spec.template.spec.terminationGracePeriodSeconds = "30s";
  const problems = await kubernetesProblems([deployment!]);
  expect(problems).toMatch(/'?"?readOnly"?'? does not exist/);
  expect(problems).toContain("not assignable to type 'number'");
});

test("probes, ports and times come from the application's settings", async () => {
  const root = await generatedApplication({ database: "postgres" });
  await edit(root, ".env", ["PORT=3000", "PORT=8080"]);
  await edit(root, "config/app.ts", [
    "} satisfies",
    "  server: { drainSeconds: 30, shutdownTimeoutSeconds: 20, health: { up: '/live', ready: '/health/ready' } },\n} satisfies",
  ]);
  const { of } = await objectsFor(root);
  const { spec } = of("Deployment").spec.template;
  const [container] = spec.containers;
  expect(container.ports).toEqual([{ name: "http", containerPort: 8080 }]);
  expect(container.env).toContainEqual({ name: "PORT", value: "8080" });
  expect(container.startupProbe.httpGet).toEqual({ path: "/live", port: "http" });
  expect(container.livenessProbe.httpGet).toEqual({ path: "/live", port: "http" });
  expect(container.readinessProbe.httpGet).toEqual({ path: "/health/ready", port: "http" });
  expect(of("Service").spec.ports).toEqual([{ name: "http", port: 80, targetPort: "http" }]);

  // Draining begins after preStop, and there is a margin.
  const preStop = Number(container.lifecycle.preStop.exec.command[1]);
  expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + 30 + 20 + 5);
  // A draining pod is soon not ready, and a busy pod isn't killed because of slow checks.
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  expect(periodSeconds * failureThreshold).toBeLessThan(30);
  expect(container.livenessProbe.timeoutSeconds).toBeGreaterThanOrEqual(5);
  // It may take longer to boot than it waits for the database (30 s).
  expect(container.startupProbe.periodSeconds * container.startupProbe.failureThreshold).toBeGreaterThan(60);
  // As many processes as there can be pods, plus one during an update.
  const { minReplicas, maxReplicas, scaleTargetRef } = of("HorizontalPodAutoscaler").spec;
  expect(container.env).toContainEqual({ name: "APP_PROCESSES", value: String(maxReplicas) });
  expect(minReplicas).toBeGreaterThanOrEqual(2);
  expect(scaleTargetRef).toEqual({ apiVersion: "apps/v1", kind: "Deployment", name: of("Deployment").metadata.name });
  expect(of("Deployment").spec).not.toHaveProperty("replicas");
});

test("everything selects the deployment's pods, and not the migrations'", async () => {
  const { of } = await objectsFor(await generatedApplication({ database: "postgres" }));
  const { labels } = of("Deployment").spec.template.metadata;
  for (const selector of [
    of("Deployment").spec.selector.matchLabels,
    of("Service").spec.selector,
    of("PodDisruptionBudget").spec.selector.matchLabels,
    of("Deployment").spec.template.spec.topologySpreadConstraints[0].labelSelector.matchLabels,
  ]) {
    expect(selector).toEqual(labels);
  }
  expect(of("Job").spec.template.metadata.labels).not.toEqual(labels);
});

test("pods can write only to /tmp, are not root, and have no cluster token", async () => {
  const { of } = await objectsFor(await generatedApplication({ database: "postgres" }));
  for (const kind of ["Deployment", "Job"]) {
    const { spec } = of(kind).spec.template;
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    });
    const [container] = spec.containers;
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(container.volumeMounts).toEqual([{ name: "tmp", mountPath: "/tmp" }]);
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.any(String) },
      limits: { memory: expect.any(String) },
    });
    // No secret is in the file.
    expect(container.envFrom).toEqual([{ secretRef: { name: "shop" } }]);
    const names = (container.env as { readonly name: string }[]).map(({ name }) => name);
    expect(names.filter((name) => /KEY|SECRET|PASSWORD|URL/.test(name))).toEqual([]);
  }
});

test("the job runs the same command as Compose, and the previous version can too", async () => {
  const { of } = await objectsFor(await generatedApplication({ database: "postgres" }));
  const { restartPolicy, containers } = of("Job").spec.template.spec;
  expect([restartPolicy, containers[0].command]).toEqual([
    "Never",
    ["node", "node_modules/ashlar/bin/ashlar.js", "migrate", "--allow-newer"],
  ]);
  expect(containers[0].image).toBe(of("Deployment").spec.template.spec.containers[0].image);
});

test("S153 the ingress has all hosts, takes the largest body, and doesn't log requests", async () => {
  const root = await generatedApplication({ database: "postgres" });
  await edit(root, "config/app.ts", ["} satisfies", '  hosts: ["*.shop.example", "acme.example"],\n} satisfies']);
  await edit(root, "routes/web.ts", [
    "...Auth.routes(AuthControllers),",
    '...Auth.routes(AuthControllers),\n  Route.post("/photos", () => "").bodyLimit("10mb"),',
  ]);
  const { of } = await objectsFor(root, "--domain", "shop.example");
  const { metadata, spec } = of("Ingress");
  const hosts = ["shop.example", "*.shop.example", "acme.example"];
  expect(spec.rules.map(({ host }: { host: string }) => host)).toEqual(hosts);
  expect(spec.tls).toEqual([{ hosts, secretName: "shop-tls" }]);
  expect(spec.rules[0].http.paths[0].backend).toEqual({ service: { name: "shop", port: { name: "http" } } });
  expect(metadata.annotations).toEqual({
    "nginx.ingress.kubernetes.io/enable-access-log": "false",
    "nginx.ingress.kubernetes.io/proxy-body-size": "20m",
    "nginx.ingress.kubernetes.io/proxy-request-buffering": "off",
  });
});

test("an application on SQLite gets the reason why it can't be deployed this way, and the other files", async () => {
  const root = await generatedApplication();
  const { code, errors } = await ashlar(root, "make:deploy", "kubernetes");
  expect([code, errors]).toEqual([
    1,
    expect.stringMatching(/^Kubernetes runs instances on several machines, but SQLite /),
  ]);
  expect((await ashlar(root, "make:deploy")).code).toBe(0);
  expect([existsSync(join(root, "deploy/kubernetes.yaml")), existsSync(join(root, "compose.yaml"))]).toEqual([
    false,
    true,
  ]);
});
