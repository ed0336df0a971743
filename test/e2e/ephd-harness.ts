import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EphdClient } from './ephd-client.ts';
import { eventually } from './eventually.ts';
import { reservePort } from './reserved-ports.ts';
import { type EphdOptions, RunningEphd } from './running-ephd.ts';
import { SampleRepository } from './sample-repository.ts';
import { endServiceProcesses, readProcessesNaming, readServiceProcesses, type ServiceProcess } from './service-processes.ts';

export type StartOptions = Partial<EphdOptions>;

/** One repository, one data folder and an ephd, in a temporary folder. Disposing leaves no process and no file. */
export class EphdHarness extends EphdClient implements AsyncDisposable {
  readonly folder: string;
  readonly dataFolder: string;
  readonly repository: SampleRepository;
  readonly #started: RunningEphd[] = [];

  private constructor(
    folder: string,
    repository: SampleRepository,
    ports: { readonly apiPort: number; readonly gatewayPort: number },
  ) {
    super({ ...ports, stateFolder: join(folder, 'state') });
    this.folder = folder;
    this.dataFolder = join(folder, 'data');
    this.repository = repository;
  }

  static async create(): Promise<EphdHarness> {
    const folder = await mkdtemp(join(tmpdir(), 'eph-e2e-'));
    const repository = await SampleRepository.create(folder, 'shop');
    return new EphdHarness(folder, repository, { apiPort: await reservePort(), gatewayPort: await reservePort() });
  }

  /** Returns at once; `start` waits until ephd is up. */
  launch(options: StartOptions = {}): RunningEphd {
    const { dataFolder, stateFolder, apiPort, gatewayPort } = this;
    const ephd = new RunningEphd({
      projects: [this.repository.path],
      dataFolder,
      stateFolder,
      apiPort,
      gatewayPort,
      ...options,
    });
    this.#started.push(ephd);
    return ephd;
  }

  start(options: StartOptions = {}): Promise<RunningEphd> {
    return this.launch(options).up();
  }

  /** All processes of its environments, whether or not ephd knows them. */
  services(): readonly ServiceProcess[] {
    return existsSync(join(this.dataFolder, 'process')) ? readServiceProcesses(this.dataFolder) : [];
  }

  /** Waits until the report is in the notes of the repository, after which ephd writes nothing more there. */
  async untilReported(commit: string, word: string): Promise<void> {
    const readNote = (): Promise<string> => this.repository.git(['notes', '--ref=eph', 'show', commit]).catch(() => '');
    await eventually(`the note of ${commit} says ${word}`, async () => (await readNote()).includes(word));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.halt();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Kills every process and keeps the folder. */
  async halt(): Promise<void> {
    await Promise.all(this.#started.map((ephd) => ephd.kill()));
    if (existsSync(join(this.dataFolder, 'process'))) endServiceProcesses(this.dataFolder);
    // A Git process of the killed ephd may still write, and would recreate parts of a folder that is removed too early.
    await eventually('the helpers of ephd have ended', () => readProcessesNaming(this.folder).length === 0);
  }
}
