# Runs a command beside a service: in its namespaces, with its rights, and known by a UTS namespace that nothing in a sandbox can leave
# or enter. docs/adr/0020-exec-enters-by-perl.md says why this is no shell script.
#
# Descriptors: 3 to ephd and back; 4 the folder /proc/<pid>/ns of the service; 5 the variables of the command; 6 the filter of system
# calls; 7 the user namespace around a network of its own, if the service has one.

use strict;
use warnings;

my ($setns, $unshare, $prctl, $setsid) = map { $_ + 0 } splice @ARGV, 0, 4;
my ($has_network, $folder, $has_terminal, @command) = @ARGV;

sub call {
    my ($what, $number, @arguments) = @_;
    syscall($number, @arguments) >= 0 or die "$what: $!\n";
}

sub file {
    my ($mode, $name) = @_;
    open my $file, $mode, $name or die "$name: $!\n";
    return $file;
}

my $pipe = file('+<&=', 3);
my ($spaces, $variables, $filter) = map { file('<&=', $_) } 4 .. 6;

# All belong to the parent of the service's user namespace, where bubblewrap leaves no process, or to one around it.
my $user = file('<', '/proc/self/fd/4/user');
my $first = $has_network ? 7 : ioctl $user, 0xb702, 0;    # NS_GET_PARENT
defined $first or die "parent of the user namespace: $!\n";
my $around = file('<&=', $first);
my @others = map { file('<', "/proc/self/fd/4/$_") } qw(mnt pid ipc uts), $has_network ? 'net' : ();

# From here on it has all capabilities in namespaces of the sandbox, and runs nothing else.
call('user namespace', $setns, fileno $around, 0);
call('namespaces', $setns, fileno $_, 0) for @others;
call('UTS namespace', $unshare, 0x04000000);                                 # CLONE_NEWUTS
call('signal', $prctl, 1, 9, 0, 0, 0);                                       # PR_SET_PDEATHSIG
$SIG{TERM} = 'IGNORE';

# The parent stays outside: it can neither be seen nor stopped from inside.
defined(my $child = fork) or die "fork: $!\n";
if ($child) {
    close $_ for \*STDIN, \*STDOUT, \*STDERR;
    waitpid $child, 0;
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

$SIG{TERM} = 'DEFAULT';
my $program = join '', <$filter>;
call('user namespace', $setns, fileno $user, 0);
for my $capability (0 .. 63) { last if syscall($prctl, 24, $capability, 0, 0, 0) < 0 }    # PR_CAPBSET_DROP
call('privileges', $prctl, 38, 1, 0, 0, 0);                                  # PR_SET_NO_NEW_PRIVS
call('filter', $prctl, 22, 2, pack('S x![P] P', length($program) / 8, $program), 0, 0);    # PR_SET_SECCOMP
call('signal', $prctl, 1, 9, 0, 0, 0);
call('session', $setsid);
chdir $folder or die "$folder: $!\n";

syswrite $pipe, "\n";
sysread $pipe, my $go, 3 or exit 75;

# A service cannot take over this process while it has capabilities, and it loses them only with the program that it runs now.
if ($has_terminal) {
    fcntl $_, 2, 0 for $pipe, $variables;    # F_SETFD: they stay open
} else {
    %ENV = map { split /=/, $_, 2 } split /\0/, join '', <$variables>;
}
exec { $command[0] } @command or warn "$command[0]: $!\n";
exit($! == 2 ? 127 : 126);
