// SPDX-License-Identifier: GPL-3.0-or-later
// headlight-mpi: `headlight corpus run` on many processes. mpirun -n 4 headlight-mpi MODEL --texts FILE --out STORE
#include "cli/command.h"
#include "headlight/corpus/run/run.h"

#include <mpi.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kAsk = 1, kAnswer = 2;

/// Rank 0 answers between its own chunks, so no thread of MPI's is needed.
class MpiTeam final : public headlight::corpus::Team {
public:
    MpiTeam() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
    }
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    /// A waiting process sleeps: it may share its core with one that works.
    void barrier() override {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) nap();
    }
    void give_out(std::vector<std::int64_t> blocks) override { blocks_ = std::move(blocks); }
    std::int64_t next() override {
        if (rank_ == 0) {
            answer();
            return take();
        }
        char ask = 0;
        std::int64_t block = -1;
        MPI_Request request;
        MPI_Irecv(&block, 1, MPI_INT64_T, 0, kAnswer, MPI_COMM_WORLD, &request);
        MPI_Send(&ask, 1, MPI_CHAR, 0, kAsk, MPI_COMM_WORLD);
        for (int done = 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done;) nap();
        return block;
    }
    void answer() override {
        while (true) {
            int asked = 0;
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, kAsk, MPI_COMM_WORLD, &asked, &status);
            if (!asked) return;
            char ask = 0;
            MPI_Recv(&ask, 1, MPI_CHAR, status.MPI_SOURCE, kAsk, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            const std::int64_t block = take();
            if (block < 0) ++dismissed_;
            MPI_Send(&block, 1, MPI_INT64_T, status.MPI_SOURCE, kAnswer, MPI_COMM_WORLD);
        }
    }
    void answer_all() override {
        for (answer(); dismissed_ < size_ - 1; answer()) nap();
    }

private:
    static void nap() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }
    std::int64_t take() { return at_ < blocks_.size() ? blocks_[at_++] : -1; }

    int rank_ = 0, size_ = 1, dismissed_ = 0;
    std::vector<std::int64_t> blocks_;
    std::size_t at_ = 0;
};

int cores_of_this_process() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
}

int processes_on_this_node() {
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    int size = 1;
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    return size;
}

/// What a launcher says of the number of its processes. MPI of another kind than the launcher's starts every process by itself,
/// as Open MPI does under srun without PMIx: each is rank 0 of 1, and all would do all the work.
constexpr const char* kTaskCounts[] = {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};

/// The variable that knows of more processes than MPI does; nullptr: none.
const char* silent_singleton(int size) {
    for (const char* name : kTaskCounts)
        if (const char* tasks = std::getenv(name); size == 1 && tasks && std::atoi(tasks) > 1) return name;
    return nullptr;
}

/// --threads N or --threads=N; 0: not given.
int threads_of(const std::vector<std::string>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (words[i].starts_with("--threads=")) return std::atoi(words[i].c_str() + std::string_view("--threads=").size());
        if (words[i] == "--threads" && i + 1 < words.size()) return std::atoi(words[i + 1].c_str());
    }
    return 0;
}

/// Processes that wait for one another's cores, or leave cores idle, are slow without a word.
void note_placement(int on_node, int cores, int machine, int threads) {
    const bool bound = cores < machine;
    if (cores == 1 && machine > on_node)
        std::fprintf(stderr,
                     "headlight-mpi: each process is bound to one core of %d. Use mpirun --bind-to none, or --map-by slot:PE=N\n",
                     machine);
    else if (const int wanted = bound ? threads : threads * on_node; wanted > cores)
        std::fprintf(stderr, "headlight-mpi: %d process%s of %d thread%s share %d core%s. Use fewer, or leave out --threads\n",
                     bound ? 1 : on_node, bound || on_node == 1 ? "" : "es", threads, threads == 1 ? "" : "s", cores,
                     cores == 1 ? "" : "s");
}

int run(MpiTeam& team, std::vector<std::string> words) {
    using namespace headlight::cli;
    if (const char* counted = silent_singleton(team.size())) {
        std::fprintf(
            stderr, "headlight-mpi: %s is %s, and MPI knows of one process. Use srun --mpi=pmix, or the mpirun of the same MPI\n",
            counted, std::getenv(counted));
        return 1;
    }
    const int on_node = processes_on_this_node(), cores = cores_of_this_process(),
              machine = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
    int threads = threads_of(words);
    if (threads == 0) {
        // Bound processes have cores of their own; others share the node's.
        threads = std::max(1, cores < machine ? cores : cores / on_node);
        words.insert(words.end(), {"--threads", std::to_string(threads)});
    }
    if (team.rank() == 0) note_placement(on_node, cores, machine, threads);
    if (team.rank() > 0) words.emplace_back("--quiet");
    const auto commands = corpus_commands();
    const auto command = std::ranges::find_if(commands, [](const Command& each) { return each.name == "corpus run"; });
    Frontend frontend;
    frontend.team = &team;
    return run_command(*command, std::move(words), frontend);
}

}  // namespace

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int code = 1;
    {
        MpiTeam team;
        code = run(team, {argv + 1, argv + argc});
    }
    // One that failed would leave the others waiting for ever.
    if (code != 0) MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Finalize();
    return code;
}
